#include "core/nn/embedding.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"

namespace simmesh::nn {
namespace {

// In exact arithmetic the gradient of positions is summed over the batch without a rounding, also
// where the sequence is shorter: a batch gives the bits of its parts.
TEST(PositionModule, GradientDoesntDependOnTheCutOfTheBatch) {
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  for (std::int64_t length : {3, 5}) {
    Tensor x = formula({6, length, 4}, {.rule = Rule::unit, .seed = 1});
    Tensor upstream = formula({6, length, 4}, {.rule = Rule::unit, .seed = 2});
    auto gradient = [&](std::initializer_list<Tensor::Narrow> parts) {
      Position position({.length = 5, .width = 4});
      for (const Tensor::Narrow& part : parts)
        backward(position(narrow(x, part)), {.gradients = {narrow(upstream, part)}});
      return grad_of(position.parameter("weight"));
    };
    Tensor whole = gradient({{0, 0, 6}});
    EXPECT_EQ(whole.shape(), (Shape{5, 4}));
    EXPECT_TRUE(same_bits(whole, gradient({{0, 0, 1}, {0, 1, 5}}))) << length;
    EXPECT_TRUE(same_bits(whole, gradient({{0, 4, 2}, {0, 0, 4}}))) << length;
  }
}

// Shorter sequences add the first rows, in any arithmetic.
TEST(PositionModule, AddsTheFirstRows) {
  Position position({.length = 5, .width = 2});
  Tensor x = zeros({2, 3, 2}, DType::float32);
  Tensor rows = narrow(position.parameter("weight"), {.dim = 0, .start = 0, .length = 3});
  Tensor canonical = position(x);
  EXPECT_TRUE(same_bits(canonical.detach(), expand(rows.detach(), {2, 3, 2}).contiguous()));
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  EXPECT_TRUE(same_bits(position(x).detach(), canonical.detach()));
}

}  // namespace
}  // namespace simmesh::nn
