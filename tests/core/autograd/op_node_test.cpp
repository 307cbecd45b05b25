#include "core/autograd/op_node.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/sums.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

Tensor pair_leaf() {
  Tensor x = tensor_of<double>({2}, {-2, 3});
  set_requires_grad(x);
  return x;
}

// A change in place must keep the elements that its gradient reads, and refuse those that it wrote.
TEST(OpNode, KeepsTheInputsOfAChangeAsTheyWere) {
  Tensor x = pair_leaf(), w = pair_leaf(), y = mul(x, 1);
  mul_(y, w);
  auto* node = dynamic_cast<OpNode*>(Variable::of(y)->node().get());
  ASSERT_TRUE(node);
  EXPECT_EQ(node->op().name, "mul");
  backward(sum(y));
  EXPECT_TRUE(same_bits(grad_of(w), tensor_of<double>({2}, {-2, 3})));
}

// An output that the gradient reads is the new one, until it is changed again.
TEST(OpNode, KeepsTheOutputsOfAChange) {
  Tensor x = pair_leaf(), y = mul(x, 1);
  relu_(y);
  backward(sum(y), {.retain_graph = true});
  EXPECT_TRUE(same_bits(grad_of(x), tensor_of<double>({2}, {0, 1})));
  add_(y, 1);
  testing::expect_error([&] { backward(sum(y)); }, ErrorKind::runtime_error, "saved by relu");
}

}  // namespace
}  // namespace simmesh
