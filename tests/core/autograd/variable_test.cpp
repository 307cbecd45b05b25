#include "core/autograd/variable.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/check/error.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"

namespace simmesh {
namespace {

Tensor scalar_leaf(double value) {
  Tensor x = full({1}, DType::float64, value);
  set_requires_grad(x);
  return x;
}

double value_of(const Tensor& tensor) { return tensor.values<double>()[0]; }

TEST(Variable, OnlyFloatingLeavesMayRequireGradients) {
  Tensor integers = zeros({2}, DType::int64);
  EXPECT_THROW(set_requires_grad(integers), Error);
  Tensor x = scalar_leaf(1), y = mul(x, x);
  EXPECT_THROW(set_requires_grad(y, false), Error);
  set_requires_grad(x, false);
  EXPECT_FALSE(mul(x, x).requires_grad());
}

TEST(Variable, HooksOfALeafSeeTheWholeGradientOfAPassAndMayReplaceIt) {
  Tensor x = scalar_leaf(3);
  int calls = 0;
  register_hook(x, [&calls](const Tensor& gradient) {
    ++calls;
    return mul(gradient, 10.0);
  });
  backward(add(mul(x, 2.0), mul(x, 5.0)));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(value_of(grad_of(x)), 70);
}

TEST(Variable, HooksOfOtherTensorsChangeWhatGoesOn) {
  Tensor x = scalar_leaf(3), y = mul(x, 2.0);
  register_hook(y, [](const Tensor& gradient) { return add(gradient, 1.0); });
  retain_grad(y);
  backward(mul(y, 4.0));
  EXPECT_EQ(value_of(grad_of(y)), 5);
  EXPECT_EQ(value_of(grad_of(x)), 10);
  Tensor plain = zeros({1}, DType::float64);
  EXPECT_THROW(register_hook(plain, [](const Tensor& g) { return g; }), Error);
}

// The kept gradient must outlive the tensor that asked for it.
TEST(Variable, RetainedGradientsDoNotKeepTheTensorAlive) {
  Tensor x = scalar_leaf(3), z;
  {
    Tensor y = mul(x, 2.0);
    retain_grad(y);
    z = mul(y, 4.0);
  }
  backward(z);
  EXPECT_EQ(value_of(grad_of(x)), 8);
}

TEST(Variable, AccumulateHooksRunAfterTheGradientIsThere) {
  Tensor x = scalar_leaf(3);
  double seen = 0;
  register_accumulate_hook(x, [&seen](Tensor& tensor) { seen = value_of(grad_of(tensor)); });
  backward(mul(x, 2.0));
  EXPECT_EQ(seen, 2);
  Tensor y = mul(x, 2.0);
  EXPECT_THROW(register_accumulate_hook(y, [](Tensor&) {}), Error);
}

TEST(Variable, GradientsCanBeReplacedAndDropped) {
  Tensor x = scalar_leaf(3);
  backward(mul(x, 2.0));
  set_grad(x, full({1}, DType::float64, 9));
  EXPECT_EQ(value_of(grad_of(x)), 9);
  set_grad(x, Tensor());
  EXPECT_FALSE(grad_of(x).is_defined());
}

// An unused leaf's accumulation node must not outlive the call that asked for it.
TEST(Variable, LeavesOwnNothingThatOwnsThem) {
  StoragePtr storage;
  {
    Tensor x = scalar_leaf(3);
    storage = x.storage();
    backward(mul(x, x));
  }
  EXPECT_EQ(storage->use_count(), 1);
}

}  // namespace
}  // namespace simmesh
