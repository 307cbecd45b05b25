#include "replay/record/json_words.h"

#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace simmesh::replay {
namespace {

TEST(JsonWords, AreJson) {
  EXPECT_EQ(json_text("a\"b\n"), "\"a\\\"b\\n\"");
  EXPECT_EQ(json_text("\xff"), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(json_number(0.5), "0.5");
  EXPECT_EQ(json_number(-2), "-2.0");
  EXPECT_EQ(json_number(1e300), "1e+300");
  EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), "\"inf\"");
  EXPECT_EQ(json_number(-std::numeric_limits<double>::infinity()), "\"-inf\"");
  EXPECT_EQ(json_number(std::numeric_limits<double>::quiet_NaN()), "\"nan\"");
  EXPECT_EQ(json_list(std::vector<std::int64_t>{1, -2}), "[1, -2]");
  EXPECT_EQ(json_list({}), "[]");
}

}  // namespace
}  // namespace simmesh::replay
