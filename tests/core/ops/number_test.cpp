#include "core/ops/number.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>

#include "core/check/check.h"
#include "core/ops/attribute_names.h"

namespace simmesh {
namespace {

// If this fails, a bool or an integer takes part in type promotion as another kind of number.
TEST(Number, KeepsItsKind) {
  EXPECT_TRUE(Number(true).is_bool());
  EXPECT_FALSE(Number(1).is_bool());
  EXPECT_FALSE(Number(1).is_floating());
  EXPECT_TRUE(Number(1.0f).is_floating());
}

// If this fails, a large floating number becomes an arbitrary integer, which no two compilers
// share.
TEST(Number, FloatingNumbersSaturate) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Number(-2.7).as<std::int64_t>(), -2);
  EXPECT_EQ(Number(1e30).as<std::int64_t>(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(Number(-infinity).as<std::int32_t>(), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(Number(300.0).as<std::uint8_t>(), 255);
  EXPECT_EQ(Number(std::numeric_limits<double>::quiet_NaN()).as<std::int64_t>(), 0);
  EXPECT_EQ(Number(0.25).as<bool>(), true);
}

TEST(Number, IsReadFromTheArgumentsOfAnOp) {
  Attributes attributes = {attribute::alpha = 3};
  EXPECT_EQ(attributes.number_in(attribute::alpha)->as<double>(), 3.0);
  EXPECT_FALSE(attributes.number_in(attribute::beta));
  EXPECT_EQ(attributes.get_or(attribute::beta, 0.5).as<double>(), 0.5);
  EXPECT_THROW(attributes.get(attribute::beta), ContractViolation);
}

}  // namespace
}  // namespace simmesh
