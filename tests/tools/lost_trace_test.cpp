#include "tools/lost_trace.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

// Would fail if the result of a run were lost with its trace, or the loss passed without a word.
TEST(LostTrace, KeepsTheResult) {
  RunWords words;
  words.trace_file = "full";
  LostTrace lost;
  int runs = 0;
  auto body = [&](const RunWords& traced, bool records) {
    ++runs;
    EXPECT_EQ(records, runs == 1);
    if (!traced.trace_file.empty())
      raise(ErrorKind::value_error, "check/write_file", "'full' can't be written to");
    return 7;
  };
  EXPECT_EQ(lost.run(words, body), 7);
  EXPECT_EQ(runs, 2);
  testing::expect_error([&] { lost.raise_again(); }, ErrorKind::value_error, "'full' can't be");
}

// Would fail if a picture that can't be written cost what follows it, or hid the first error.
TEST(LostTrace, KeepsTheFirstErrorOfFiles) {
  LostTrace lost;
  for (const char* name : {"first", "second"})
    lost.write([&] { raise(ErrorKind::value_error, "check/write_file", "'{}' is full", name); });
  testing::expect_error([&] { lost.raise_again(); }, ErrorKind::value_error, "'first' is full");
}

// Would fail if a run were repeated after an error of its own.
TEST(LostTrace, LeavesOtherErrorsAlone) {
  RunWords words;
  words.trace_file = "t.json";
  LostTrace lost;
  auto body = [](const RunWords&, bool) -> int {
    raise(ErrorKind::value_error, "gate/file", "expected a gate, got none");
  };
  testing::expect_error([&] { lost.run(words, body); }, ErrorKind::value_error, "expected a gate");
  EXPECT_NO_THROW(lost.raise_again());
}

}  // namespace
}  // namespace simmesh
