#include "core/nn/gated_mlp.h"

#include <gtest/gtest.h>

#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/tensor/formula.h"

namespace simmesh::nn {
namespace {

// The gate and the gated value must not be swapped.
TEST(GatedMlp, IsTheProductOfAGateAndAProjection) {
  GatedMlp mlp({.width = 4, .hidden = 6});
  Tensor x = formula({3, 4}, {.rule = Rule::unit, .seed = 1});
  auto weight = [&](const char* name) { return mlp.child(name).parameter("weight").detach(); };
  EXPECT_EQ(weight("w1").shape(), (Shape{6, 4}));
  EXPECT_EQ(weight("w2").shape(), (Shape{4, 6}));
  Tensor gate = silu(linear(x, weight("w1")));
  Tensor expected = linear(mul(gate, linear(x, weight("w3"))), weight("w2"));
  EXPECT_TRUE(same_bits(mlp(x).detach(), expected));
}

}  // namespace
}  // namespace simmesh::nn
