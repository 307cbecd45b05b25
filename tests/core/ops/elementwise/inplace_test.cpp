#include "core/ops/elementwise/inplace.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/reductions/sums.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

Tensor numbers() { return tensor_of<float>({2, 2}, {1, 2, 3, 4}); }

TEST(InPlace, WritesThroughViews) {
  Tensor x = numbers();
  Tensor column = x.narrow({.dim = 1, .start = 1, .length = 1});
  add_(column, 10);
  mul_(column, 2);
  EXPECT_EQ(to_string(x), "float32[2, 2] {1, 24, 3, 28}");
  EXPECT_EQ(&neg_(x), &x);
  EXPECT_EQ(to_string(clamp_(x, -20)), "float32[2, 2] {-1, -20, -3, -20}");
}

TEST(InPlace, ComputesWhatTheOpDoes) {
  Tensor x = numbers();
  EXPECT_EQ(to_string(sub_(x, numbers(), 2)), "float32[2, 2] {-1, -2, -3, -4}");
  EXPECT_EQ(to_string(sub_(x, -3)), "float32[2, 2] {2, 1, 0, -1}");
  EXPECT_EQ(to_string(relu_(x)), "float32[2, 2] {2, 1, 0, 0}");
  EXPECT_EQ(to_string(addcmul_(x, numbers(), numbers(), 0.5)), "float32[2, 2] {2.5, 3, 4.5, 8}");
  EXPECT_EQ(to_string(floor_(x)), "float32[2, 2] {2, 3, 4, 8}");
  EXPECT_EQ(to_string(mul_(x, x)), "float32[2, 2] {4, 9, 16, 64}");
}

TEST(InPlace, KeepsShapeAndDtype) {
  Tensor x = tensor_of<std::int32_t>({2}, {5, 7});
  add_(x, tensor_of<std::int64_t>({2}, {1, 1}));
  EXPECT_EQ(to_string(x), "int32[2] {6, 8}");
  expect_error([&] { div_(x, 2); }, ErrorKind::runtime_error, "can't be cast");
  expect_error([&] { add_(x, zeros({3, 2}, DType::int32)); }, ErrorKind::runtime_error, "shape");
  EXPECT_EQ(to_string(div_(x, 4, RoundingMode::floor)), "int32[2] {1, 2}");
}

TEST(InPlace, CopiesAndFills) {
  Tensor x = numbers();
  copy_from_(x, tensor_of<std::int64_t>({2}, {8, 9}));
  EXPECT_EQ(to_string(x), "float32[2, 2] {8, 9, 8, 9}");
  EXPECT_EQ(to_string(fill_(x, 2.5)), "float32[2, 2] {2.5, 2.5, 2.5, 2.5}");
  EXPECT_EQ(to_string(zero_(x)), "float32[2, 2] {0, 0, 0, 0}");
  EXPECT_EQ(to_string(masked_fill_(x, eq(x, 0), 1)), "float32[2, 2] {1, 1, 1, 1}");
  expect_error([&] { copy_from_(x, zeros({3}, DType::float32)); }, ErrorKind::runtime_error, "");
  expect_error([&] { fill_(x, numbers()); }, ErrorKind::runtime_error, "0-dimension");
}

// The copied elements get the gradient, the former ones get none.
TEST(InPlace, PassesTheGradientOnToTheSource) {
  Tensor before = numbers(), source = tensor_of<float>({2}, {1, 2});
  set_requires_grad(before);
  set_requires_grad(source);
  Tensor x = before * 1;
  copy_from_(x, source);
  backward(sum(x * x));
  EXPECT_EQ(to_string(grad_of(source)), "float32[2] {4, 8}");
  EXPECT_EQ(to_string(grad_of(before)), "float32[2, 2] {0, 0, 0, 0}");
  expect_error([&] { add_(source, 1); }, ErrorKind::runtime_error, "leaf");
}

TEST(InPlace, WritesResultsInto) {
  Tensor out = zeros({2, 2}, DType::float32);
  add_out(out, numbers(), numbers(), 2);
  EXPECT_EQ(to_string(out), "float32[2, 2] {3, 6, 9, 12}");
  // A contiguous out takes the result directly; not one that the op still reads, or with gaps.
  Tensor self = numbers();
  add_out(self, self, self.transpose(0, 1));
  EXPECT_EQ(to_string(self), "float32[2, 2] {2, 5, 5, 8}");
  Tensor part = zeros({2, 4}, DType::float32),
         columns = part.narrow({.dim = 1, .start = 1, .length = 2});
  add_out(columns, numbers(), numbers());
  EXPECT_EQ(to_string(part), "float32[2, 4] {0, 2, 4, 0, 0, 6, 8, 0}");
}

}  // namespace
}  // namespace simmesh
