#include "gate/tables/toml_table.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// A number without a point would read back as an integer, which a key of numbers refuses.
TEST(TomlTable, NumbersReadBackAsNumbers) {
  EXPECT_EQ(toml_number(2), "2.0");
  EXPECT_EQ(toml_number(0.25), "0.25");
  EXPECT_EQ(toml_number(1e-30), "1e-30");
}

// A quote that isn't escaped would end the text.
TEST(TomlTable, QuotesAreEscaped) {
  EXPECT_EQ(toml_quoted("a \"b\" \\"), "\"a \\\"b\\\" \\\\\"");
  EXPECT_EQ(toml_texts({"a", "b"}), "[\"a\", \"b\"]");
}

TEST(TomlTable, HasALineForEachKey) {
  TomlTable table("train");
  table.add("steps", std::int64_t(3));
  table.add("fold", true);
  table.add("shape", toml_sizes(Shape{2, 4}));
  table.word("mode", "exact");
  EXPECT_EQ(table.text(), "\n[train]\nsteps = 3\nfold = true\nshape = [2, 4]\nmode = \"exact\"\n");
}

}  // namespace
}  // namespace simmesh
