#include "checkpoint/torch_file/pickle_values.h"

#include <gtest/gtest.h>

namespace simmesh::checkpoint {
namespace {

// Each name of Python 2 or of old modules must be known as that of today.
TEST(PickleValues, NamesAreThoseOfToday) {
  EXPECT_EQ(current_name("__builtin__", "set"), "builtins.set");
  EXPECT_EQ(current_name("__builtin__", "xrange"), "builtins.range");
  EXPECT_EQ(current_name("copy_reg", "_reconstructor"), "copyreg._reconstructor");
  EXPECT_EQ(current_name("numpy.core.multiarray", "scalar"), "numpy._core.multiarray.scalar");
  EXPECT_EQ(current_name("pathlib._local", "PosixPath"), "pathlib.PosixPath");
  EXPECT_EQ(current_name("m", "long"), "m.long");
}

TEST(PickleValues, DigitsAreIntegersOfAnyLength) {
  PickleNode node;
  EXPECT_TRUE(set_to_digits(node, "-12L"));
  EXPECT_EQ(node.integer, -12);
  PickleNode wide;
  EXPECT_TRUE(set_to_digits(wide, "9223372036854775808"));
  EXPECT_EQ(wide.kind, PickleNode::Kind::wide_integer);
  EXPECT_EQ(wide.text, "9223372036854775808");
  for (const char* digits : {"", "-", "1a", "0xg", "--1", " 1"}) {
    PickleNode none;
    EXPECT_FALSE(set_to_digits(none, digits)) << digits;
  }
}

TEST(PickleValues, QuotesAndEscapesAreThoseOfPython) {
  std::string text;
  EXPECT_TRUE(unquoted("'a\\x41\\q'", text));
  EXPECT_EQ(text, "aA\\q");
  EXPECT_FALSE(unquoted("'a", text));
  EXPECT_EQ(unescaped("\\u00e9\\U0001f600\\u12"), "\u00e9\U0001f600\\u12");
}

}  // namespace
}  // namespace simmesh::checkpoint
