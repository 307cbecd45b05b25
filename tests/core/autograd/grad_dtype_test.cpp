#include "core/autograd/grad_dtype.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/scalar_value.h"
#include "tests/expect_error.h"

// The policy of a leaf decides in which dtype its gradients add up: 256 + 1 is 256 in bfloat16. All
// figures are those of PyTorch 2.15.0.
namespace simmesh {
namespace {

using testing::expect_error;

struct Leaf {
  DType dtype;
  GradDtype policy;

  Tensor make() const {
    Tensor leaf = full({1}, dtype, 1);
    set_requires_grad(leaf);
    set_grad_dtype(leaf, policy);
    return leaf;
  }
};

struct DtypeAndValues {
  double value;
  DType dtype;
  friend bool operator==(const DtypeAndValues&, const DtypeAndValues&) = default;
};

DtypeAndValues gradient_of(const Tensor& leaf) {
  return {scalar_value(grad_of(leaf)), grad_of(leaf).dtype()};
}

void add_gradient(const Tensor& leaf, double factor) { backward(sum(mul(leaf, factor))); }

// Both uses in one pass: each gradient is converted before they meet.
DtypeAndValues of_two_uses(const Leaf& described) {
  Tensor leaf = described.make();
  backward(add(sum(mul(leaf, 256.0)), sum(mul(leaf, 1.0))));
  return gradient_of(leaf);
}

TEST(GradDtype, IsTheDtypeInWhichUsesAddUp) {
  using enum DType;
  EXPECT_EQ(of_two_uses({bfloat16, {}}), (DtypeAndValues{256, bfloat16}));
  EXPECT_EQ(of_two_uses({bfloat16, float32}), (DtypeAndValues{257, float32}));
  EXPECT_EQ(of_two_uses({bfloat16, GradDtype::any()}), (DtypeAndValues{256, bfloat16}));
  EXPECT_EQ(of_two_uses({float32, bfloat16}), (DtypeAndValues{256, bfloat16}));
}

// A gradient that is there keeps its dtype, whatever is added.
TEST(GradDtype, StaysThatOfTheGradientThatIsThere) {
  Tensor leaf = Leaf{DType::float32, GradDtype::any()}.make();
  set_grad(leaf, full({1}, DType::bfloat16, 256));
  add_gradient(leaf, 1.00390625);
  EXPECT_EQ(gradient_of(leaf), (DtypeAndValues{258, DType::bfloat16}));
  Tensor wide = Leaf{DType::bfloat16, DType::float32}.make();
  add_gradient(wide, 256);
  add_gradient(wide, 1);
  EXPECT_EQ(gradient_of(wide), (DtypeAndValues{257, DType::float32}));
}

// A policy that changes after the forward pass counts.
TEST(GradDtype, IsThatOfTheBackwardPass) {
  Tensor leaf = Leaf{DType::bfloat16, DType::float32}.make();
  Tensor result = add(sum(mul(leaf, 256.0)), sum(mul(leaf, 1.0)));
  set_grad_dtype(leaf, GradDtype::any());
  backward(result);
  EXPECT_EQ(gradient_of(leaf), (DtypeAndValues{256, DType::bfloat16}));
}

TEST(GradDtype, RefusesGradientsOfAnotherDtype) {
  Tensor leaf = Leaf{DType::float32, DType::bfloat16}.make();
  expect_error([&] { set_grad(leaf, full({1}, DType::float32, 1)); }, ErrorKind::runtime_error,
               "expected a gradient of the tensor's grad_dtype bfloat16, got one of dtype float32");
  add_gradient(leaf, 1);
  expect_error([&] { set_grad_dtype(leaf, DType::float32); }, ErrorKind::runtime_error,
               "cannot set grad_dtype to float32 because there is already a gradient with dtype "
               "bfloat16");
  EXPECT_EQ(grad_dtype_of(leaf), GradDtype(DType::bfloat16));
  Tensor result = mul(leaf, 2.0);
  expect_error([&] { set_grad_dtype(result, {}); }, ErrorKind::runtime_error,
               "grad_dtype can only be set on leaf tensors, got the result of mul");
}

TEST(GradDtype, IsUnsetFirst) {
  Tensor leaf = zeros({1}, DType::float32);
  EXPECT_FALSE(grad_dtype_of(leaf).is_set());
  EXPECT_TRUE(GradDtype::any().is_any());
  EXPECT_EQ(GradDtype().dtype_for(DType::float16), DType::float16);
  EXPECT_EQ(GradDtype(DType::float32).dtype_for(DType::float16), DType::float32);
  EXPECT_EQ(GradDtype::any().dtype_for(DType::float16), std::nullopt);
}

}  // namespace
}  // namespace simmesh
