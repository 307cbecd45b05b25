#include "core/ops/shapes/factories.h"

#include <gtest/gtest.h>

#include "core/check/error.h"

namespace simmesh {
namespace {

TEST(Factories, ArangeCountsUpAndDown) {
  EXPECT_EQ(to_string(arange(3)), "int64[3] {0, 1, 2}");
  EXPECT_EQ(to_string(arange({.start = 1, .end = 2, .step = 0.5}, DType::float32)),
            "float32[2] {1, 1.5}");
  EXPECT_EQ(to_string(arange({.start = 3, .end = 0, .step = -2}, DType::int32)), "int32[2] {3, 1}");
  EXPECT_EQ(arange(0).shape(), Shape{0});
  EXPECT_THROW(arange({.start = 0, .end = 1, .step = -1}, DType::float32), Error);
  EXPECT_THROW(arange({.end = 1, .step = 0}, DType::float32), Error);
}

// Both ends are met exactly, which start + i * step alone doesn't do.
TEST(Factories, LinspaceMeetsBothEnds) {
  for (std::int64_t steps : {2, 3, 7, 50}) {
    Tensor x = linspace({.start = 0.1, .end = 0.7, .steps = steps}, DType::float64);
    EXPECT_EQ(x.values<double>().front(), 0.1);
    EXPECT_EQ(x.values<double>().back(), 0.7);
  }
  EXPECT_EQ(to_string(linspace({.start = 2, .end = 3, .steps = 1})), "float32[1] {2}");
  EXPECT_EQ(linspace({.steps = 0}).shape(), Shape{0});
}

TEST(Factories, EyeOnesAndTheirKin) {
  EXPECT_EQ(to_string(eye(2, 3)), "float32[2, 3] {1, 0, 0, 0, 1, 0}");
  EXPECT_EQ(to_string(eye(2, {}, DType::boolean)), "bool[2, 2] {true, false, false, true}");
  EXPECT_EQ(to_string(ones({2}, DType::bfloat16)), "bfloat16[2] {1, 1}");
  EXPECT_EQ(to_string(scalar_tensor(3)), "float32[] {3}");
  Tensor x = ones({2, 1}, DType::float16);
  EXPECT_EQ(to_string(full_like(x, 2)), "float16[2, 1] {2, 2}");
  EXPECT_EQ(to_string(zeros_like(x, DType::int32)), "int32[2, 1] {0, 0}");
  EXPECT_EQ(to_string(ones_like(x)), "float16[2, 1] {1, 1}");
  EXPECT_EQ(empty_like(x).shape(), (Shape{2, 1}));
  EXPECT_EQ(to_string(new_zeros(x, Shape{1})), "float16[1] {0}");
}

// Powers are those of the points in between, not points between the powers.
TEST(Factories, LogspaceRaisesTheBaseToThePoints) {
  EXPECT_EQ(to_string(logspace({.start = -1, .end = 2, .steps = 4, .base = 2})),
            "float32[4] {0.5, 1, 2, 4}");
  EXPECT_EQ(logspace({.steps = 0}).shape(), Shape{0});
  EXPECT_THROW(logspace({.steps = -1}), Error);
}

// A tensor of another shape takes the dtype of the one that it is made from.
TEST(Factories, NewTensorsTakeTheDType) {
  Tensor x = ones({2, 1}, DType::float16);
  EXPECT_EQ(to_string(new_zeros(x, Shape{2})), "float16[2] {0, 0}");
  EXPECT_EQ(to_string(new_ones(x, Shape{}, DType::int64)), "int64[] {1}");
  EXPECT_EQ(to_string(new_full(x, Shape{1, 2}, 3)), "float16[1, 2] {3, 3}");
  EXPECT_EQ(new_empty(x, Shape{0, 4}).shape(), (Shape{0, 4}));
}

}  // namespace
}  // namespace simmesh
