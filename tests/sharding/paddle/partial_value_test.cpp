#include "sharding/paddle/partial_value.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "core/check/error.h"

namespace simmesh::paddle {
namespace {

// A value that isn't neutral would change the tensor.
TEST(PartialValue, NeutralValuesChangeNothing) {
  EXPECT_EQ(neutral_tensor(Shape{1}, DType::float32, ReduceOp::max).values<float>()[0], -INFINITY);
  EXPECT_EQ(neutral_tensor(Shape{1}, DType::int64, ReduceOp::min).values<std::int64_t>()[0],
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(neutral_tensor(Shape{1}, DType::uint8, ReduceOp::max).values<std::uint8_t>()[0], 0);
  EXPECT_EQ(neutral_tensor(Shape{1}, DType::float64, ReduceOp::product).values<double>()[0], 1.0);
  EXPECT_TRUE(neutral_tensor(Shape{1}, DType::boolean, ReduceOp::band).values<bool>()[0]);
  EXPECT_FALSE(neutral_tensor(Shape{1}, DType::boolean, ReduceOp::bor).values<bool>()[0]);
  EXPECT_THROW(neutral_tensor(Shape{1}, DType::float32, ReduceOp::band), Error);
}

// Towards zero, as C++ divides.
TEST(PartialValue, IntegersAreDividedTowardsZero) {
  Tensor sums = full(Shape{1}, DType::int32, -5.0);
  EXPECT_EQ(divided_integers(sums, 3).values<std::int32_t>()[0], -1);
}

// Coordinate 0 keeps the value; of an average every rank does.
TEST(PartialValue, FirstCoordinateKeepsTheValue) {
  Tensor value = full(Shape{2}, DType::float32, 3.0);
  EXPECT_EQ(partial_value(value, ReduceOp::sum, 0).values<float>()[1], 3.0F);
  EXPECT_EQ(partial_value(value, ReduceOp::sum, 1).values<float>()[1], 0.0F);
  EXPECT_EQ(partial_value(value, ReduceOp::avg, 1).values<float>()[1], 3.0F);
}

}  // namespace
}  // namespace simmesh::paddle
