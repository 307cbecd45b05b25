#include "core/nn/given_gradients.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"

namespace simmesh::nn {
namespace {

// Each parameter gets just the given gradient, bit for bit; one that is not named gets nothing.
TEST(GivenGradients, AreTheGradients) {
  GivenGradients module({{"a", Shape{2, 3}}, {"b", Shape{4}}}, {});
  for (ParameterSlot& slot : module.slots()) {
    Tensor data = slot.tensor.detach();
    copy_(data, formula(data.shape(), {.rule = Rule::unit, .seed = 1}));
  }
  Tensor gradient = formula({2, 3}, {.rule = Rule::unit, .seed = 2});
  module.give({{"a", gradient}});
  backward(sum(module(zeros({1}, DType::float32))));
  EXPECT_TRUE(same_bits(grad_of(module.parameter("a")), gradient));
  EXPECT_FALSE(grad_of(module.parameter("b")).is_defined());
}

}  // namespace
}  // namespace simmesh::nn
