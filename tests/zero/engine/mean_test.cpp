#include "zero/engine/mean.h"

#include <gtest/gtest.h>

#include "core/engine/options/arithmetic.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"

namespace simmesh::zero {
namespace {

std::string mean_of_sum(const MeanOf& mean) {
  KeepUnrounded scope;
  Tensor reduced =
      add(mean.begin(tensor_of<float>({2}, {4, 8})), mean.begin(tensor_of<float>({2}, {12, 16})));
  return to_string(mean.end(reduced));
}

// If this fails, gradients are too large or too small by the number of ranks.
TEST(MeanOf, DividesAroundTheReduction) {
  EXPECT_EQ(mean_of_sum({.before = 2}), "float32[2] {8, 12}");
  EXPECT_EQ(mean_of_sum({.after = 2}), "float32[2] {8, 12}");
  EXPECT_EQ(mean_of_sum({.before = 4, .after = 0.5}), "float32[2] {8, 12}");
}

// If this fails, a sum of gradients depends on how it is divided on the way, in one arithmetic or
// the other.
TEST(MeanOf, ASumStaysASum) {
  MeanOf sum{.before = 3, .after = 2, .is_sum = true};
  EXPECT_EQ(mean_of_sum(sum), "float32[2] {16, 24}");
  static const Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  EXPECT_EQ(mean_of_sum(sum), "float32[2] {16, 24}");
}

}  // namespace
}  // namespace simmesh::zero
