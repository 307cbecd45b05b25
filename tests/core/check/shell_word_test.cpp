#include "core/check/shell_word.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// If this fails, a line that reproduces a failure runs another command when it is pasted.
TEST(ShellWord, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_word("tests/cases/a-b_c.jsonl"), "tests/cases/a-b_c.jsonl");
  EXPECT_EQ(shell_word("pct:3"), "pct:3");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("two words"), "'two words'");
  EXPECT_EQ(shell_word("R->S(0)*"), "'R->S(0)*'");
  EXPECT_EQ(shell_word("$HOME"), "'$HOME'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace simmesh
