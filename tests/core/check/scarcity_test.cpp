#include "core/check/scarcity.h"

#include <cerrno>
#include <gtest/gtest.h>
#include <string>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

// If this fails, a lack of the machine is taken for a fault of the input, or the other way round.
TEST(Scarcity, KeepsTheFirstReasonOfTheMachine) {
  Scarcity::clear();
  EXPECT_EQ(Scarcity::reason(), "");
  auto refuse = [](int reason) {
    raise_refused(reason, ErrorKind::value_error, "a/place", "'{}' can't be opened", "f");
  };
  expect_error([&] { refuse(ENOENT); }, ErrorKind::value_error,
               "[a/place] 'f' can't be opened: No such file or directory");
  EXPECT_EQ(Scarcity::reason(), "") << "a name that is wrong is a fault of the input";
  expect_error([&] { refuse(EMFILE); }, ErrorKind::value_error, ": Too many open files");
  expect_error([&] { refuse(ENOSPC); }, ErrorKind::value_error, ": No space left on device");
  EXPECT_EQ(Scarcity::reason(), "[a/place] 'f' can't be opened: Too many open files");
  Scarcity::clear();
  EXPECT_EQ(Scarcity::reason(), "");
  expect_error([&] { refuse(0); }, ErrorKind::value_error, "'f' can't be opened");
  Scarcity::note(std::string(10'000, 'a'));
  EXPECT_EQ(Scarcity::reason(), std::string(600, 'a'));
  Scarcity::clear();
}

}  // namespace
}  // namespace simmesh
