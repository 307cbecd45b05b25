#include "core/ops/functions/reordering.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

std::string shape_of(const Tensor& x) { return to_string(DimSpan(x.shape())); }

TEST(Reordering, MovesSeveralDims) {
  Tensor x = zeros({2, 3, 4, 5}, DType::float32);
  EXPECT_EQ(shape_of(movedim(x, Dims{0, 1}, Dims{-1, 0})), "[3, 4, 5, 2]");
  EXPECT_EQ(shape_of(movedim(x, Dims{2}, Dims{0})), shape_of(movedim(x, 2, 0)));
  expect_error([&] { movedim(x, Dims{0, 0}, Dims{1, 2}); }, ErrorKind::runtime_error);
  expect_error([&] { movedim(x, Dims{0}, Dims{1, 2}); }, ErrorKind::runtime_error);
}

TEST(Reordering, SqueezesSeveralDims) {
  Tensor x = zeros({1, 3, 1, 1}, DType::float32);
  EXPECT_EQ(shape_of(squeeze(x, DimSpan(Dims{-1, 0, 1}))), "[3, 1]");
}

TEST(Reordering, SplitsAtIndicesAndIntoSections) {
  Tensor x = tensor_of<float>({5}, {0, 1, 2, 3, 4});
  std::vector<Tensor> parts = tensor_split(x, 3);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(to_string(parts[0]), "float32[2] {0, 1}");
  EXPECT_EQ(to_string(parts[1]), "float32[2] {2, 3}");
  EXPECT_EQ(to_string(parts[2]), "float32[1] {4}");
  parts = tensor_split(x, DimSpan(Dims{1, 3}));
  EXPECT_EQ(to_string(parts[1]), "float32[2] {1, 2}");
  EXPECT_EQ(tensor_split(x, 7).size(), 7u);
  expect_error([&] { tensor_split(x, 0); }, ErrorKind::runtime_error);
}

TEST(Reordering, InPlaceFormsBecomeTheView) {
  Tensor x = zeros({2, 3}, DType::float32);
  EXPECT_EQ(&transpose_(x, 0, 1), &x);
  EXPECT_EQ(shape_of(x), "[3, 2]");
  EXPECT_EQ(shape_of(unsqueeze_(x, 0)), "[1, 3, 2]");
  EXPECT_EQ(shape_of(squeeze_(x, 1)), "[1, 3, 2]");
  EXPECT_EQ(shape_of(squeeze_(x)), "[3, 2]");
  EXPECT_EQ(shape_of(t_(x)), "[2, 3]");
}

// PyTorch refuses a leaf, and accepts the result of an op on one.
TEST(Reordering, InPlaceFormsOfALeafAreRefused) {
  Tensor x = tensor_of<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  set_requires_grad(x);
  expect_error([&] { t_(x); }, ErrorKind::runtime_error);
  EXPECT_EQ(shape_of(x), "[2, 3]");
  Tensor y = transpose(x * x, 0, 1);
  t_(y);
  backward(y, {.gradients = {full({2, 3}, DType::float32, 1)}});
  EXPECT_EQ(to_string(grad_of(x)), "float32[2, 3] {0, 2, 4, 6, 8, 10}");
  NoGrad scope;
  EXPECT_EQ(shape_of(t_(x)), "[3, 2]");
}

}  // namespace
}  // namespace simmesh
