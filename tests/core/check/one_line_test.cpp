#include "core/check/one_line.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// A name from a file must neither move the cursor nor begin a line of its own.
TEST(OneLine, EscapesWhatChangesATerminal) {
  EXPECT_EQ(one_line("model.weight \u00e9 \u20ac \U0001f600"),
            "model.weight \u00e9 \u20ac \U0001f600");
  EXPECT_EQ(one_line("a\nb\r\tc"), "a\\nb\\x0d\\x09c");
  EXPECT_EQ(one_line("\x1b[31mred\x7f"), "\\x1b[31mred\\x7f");
  EXPECT_EQ(one_line("\u0085\u009b"), "\\xc2\\x85\\xc2\\x9b") << "control characters of 8 bits";
  EXPECT_EQ(one_line("\u202e\u2066\u2028"), "\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xe2\\x80\\xa8");
  EXPECT_EQ(one_line("\xff\xc3"), "\\xff\\xc3") << "bytes that aren't UTF-8";
  EXPECT_EQ(one_line(std::string("a\0b", 3)), "a\\x00b");
}

}  // namespace
}  // namespace simmesh
