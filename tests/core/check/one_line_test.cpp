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

// If this fails, a report moves the cursor, loses its lines, or is no JSON any more.
TEST(OneLine, MakesReportsPrintable) {
  EXPECT_EQ(printable_report("a\n\nb \u00e9 \U0001f600\n"), "a\n\nb \u00e9 \U0001f600\n");
  EXPECT_EQ(printable_report("\x1b[31m\r\t\x7f"), "\\u001b[31m\\u000d\\u0009\\u007f");
  EXPECT_EQ(printable_report("\u009b\u202e\u2066"), "\\u009b\\u202e\\u2066");
  EXPECT_EQ(printable_report("\xff\xc3"), "\\xff\\xc3");
}

TEST(Markup, NothingOfATextIsTakenForMarkup) {
  EXPECT_EQ(markup("<script>\"a\" & 'b'</script>"),
            "&lt;script&gt;&quot;a&quot; &amp; 'b'&lt;/script&gt;");
  EXPECT_EQ(markup("a\x01\n\tb"), "a\n\tb");
}

}  // namespace
}  // namespace simmesh
