#include "tools/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

struct Ending {
  int status;
  std::string out, err;
};

Ending ending_of(std::vector<std::string> words) {
  words.insert(words.begin(), "any name");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  CaptureStdout();
  CaptureStderr();
  int status = run_command(int(arguments.size()), arguments.data());
  return {status, GetCapturedStdout(), GetCapturedStderr()};
}

// If this fails, scripts and the module of Python can't tell a failed check from a wrong argument.
TEST(Command, SaysHowItEndedByItsStatus) {
  Ending version = ending_of({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, HasSubstr("simmesh "));
  Ending plan = ending_of({"plan", "--mesh", "2", "--shape", "4", "--from", "S(0)", "--to", "R"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{}, {"nonsense"}, {"plan", "--mesh", "0"}}) {
    Ending refused = ending_of(wrong);
    EXPECT_EQ(refused.status, 2);
    EXPECT_EQ(refused.out, "");
    EXPECT_THAT(refused.err, ::testing::StartsWith("simmesh: "));
  }
}

}  // namespace
}  // namespace simmesh
