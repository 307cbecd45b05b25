#include "tools/whole_number.h"

#include <gtest/gtest.h>
#include <limits>

namespace simmesh {
namespace {

// If this fails, an option takes -1 as 2^64 - 1, or refuses a bound that it names.
TEST(WholeNumber, TakesWhatLiesBetweenItsBounds) {
  CLI::Validator small = whole_number(1, 8);
  EXPECT_EQ(small.get_description(), "1 to 8");
  for (std::string text : {"1", "8"}) EXPECT_EQ(small(text), "") << text;
  for (std::string text : {"0", "9", "-1", "x", "", "1.5", "2 ", "99999999999999999999"})
    EXPECT_EQ(small(text), "expected a whole number from 1 to 8, got " + text);
  std::string most = "18446744073709551615";
  EXPECT_EQ(whole_number(0, std::numeric_limits<std::uint64_t>::max())(most), "");
  EXPECT_NE(whole_number(0)(most), "");
}

}  // namespace
}  // namespace simmesh
