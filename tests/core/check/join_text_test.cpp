#include "core/check/join_text.h"

#include <gtest/gtest.h>
#include <vector>

namespace simmesh {
namespace {

// If this fails, lists in messages and files have other text.
TEST(JoinText, PutsASeparatorBetween) {
  EXPECT_EQ(join_text(std::vector<std::string>{}, ", "), "");
  EXPECT_EQ(join_text(std::vector<std::string>{"a"}, ", "), "a");
  EXPECT_EQ(join_text(std::vector<std::string>{"a", "", "c"}, ", "), "a, , c");
  EXPECT_EQ(join_text(std::vector<std::string_view>{"a", "b"}, ""), "ab");
}

TEST(JoinText, WritesNumbersInDecimal) {
  EXPECT_EQ(join_text(std::vector<std::int64_t>{-2, 3}, "x"), "-2x3");
  EXPECT_EQ(join_text(std::vector<std::size_t>{2, 3}, " "), "2 3");
  EXPECT_EQ(join_text(std::vector<std::uint32_t>{4294967295u}, " "), "4294967295");
  EXPECT_EQ(join_text(std::vector<int>{1, 2}, "/"), "1/2");
  EXPECT_EQ(join_text(std::vector<double>{0.5, 1.0, 1e300}, " "), "0.5 1 1e+300");
}

}  // namespace
}  // namespace simmesh
