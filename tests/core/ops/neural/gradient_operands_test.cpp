#include "core/ops/neural/gradient_operands.h"

#include <gtest/gtest.h>

#include "core/tensor/formula.h"

namespace simmesh {
namespace {

// If the op changed an operand, the gradient would depend on whether tensors are distributed.
TEST(GradientOperands, AreEachAsTheyWere) {
  Tensor x = formula({2, 3}, {.rule = Rule::unit, .seed = 1}), weight = formula({3}, {.seed = 2});
  std::vector<Tensor> operands =
      gradient_operands(std::vector<Tensor>{x, weight}, {attribute::of = "layer_norm"});
  ASSERT_EQ(operands.size(), 2u);
  EXPECT_TRUE(same_bits(operands[0], x));
  EXPECT_TRUE(same_bits(operands[1], weight));
}

}  // namespace
}  // namespace simmesh
