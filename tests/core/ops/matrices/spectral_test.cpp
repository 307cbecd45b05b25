#include "core/ops/matrices/spectral.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/ops/elementwise/pointwise.h"
#include "core/ops/functions/diagonals.h"
#include "core/ops/matrices/linear_algebra.h"
#include "core/ops/matrices/products.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "tests/core/gradients/gradient_case.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

// For matrices of up to 8 with elements below one, products of the factors are off by some dozens
// of roundings of 2^-53 each.
constexpr double factor_bound = 0x1p-44;

double largest_difference(const Tensor& a, const Tensor& b) {
  Tensor difference = sub(a, b).contiguous();
  double largest = 0;
  for (double x : difference.values<double>()) largest = std::max(largest, std::fabs(x));
  return largest;
}

Tensor product_of(const Svd& factors) {
  return matmul(factors.u * unsqueeze(factors.s, -2), factors.vh);
}

void expect_factors(const Tensor& a) {
  Svd factors = svd(a);
  EXPECT_LT(largest_difference(product_of(factors), a), factor_bound);
  std::int64_t least = factors.s.size(factors.s.dim() - 1);
  Tensor unit = eye(least, {}, DType::float64);
  Tensor own = matmul(transpose(factors.u, -2, -1), factors.u);
  Tensor other = matmul(factors.vh, transpose(factors.vh, -2, -1));
  EXPECT_LT(largest_difference(own, expand_as(unit, own)), factor_bound);
  EXPECT_LT(largest_difference(other, expand_as(unit, other)), factor_bound);
  auto values = factors.s.values<double>();
  for (std::size_t i = 1; i < values.size(); ++i)
    EXPECT_TRUE(i % std::size_t(least) == 0 || values[i - 1] >= values[i]);
  for (double value : values) EXPECT_GE(value, 0);
}

TEST(Spectral, SvdOfTallWideAndFlatMatrices) {
  for (const Shape& shape : {Shape{5, 3}, Shape{3, 5}, Shape{4, 4}, Shape{1, 3}, Shape{2, 3, 2}})
    expect_factors(formula(shape, {.rule = Rule::unit, .seed = 4, .dtype = DType::float64}));
  // Columns that depend on each other, or are zero, leave orthonormal factors all the same.
  expect_factors(tensor_of<double>({3, 3}, {1, 2, 3, 2, 4, 6, 3, 6, 9}));
  expect_factors(zeros({3, 2}, DType::float64));
  EXPECT_EQ(to_string(svdvals(tensor_of<float>({2, 2}, {0, -3, 4, 0}))), "float32[2] {4, 3}");
  EXPECT_EQ(to_string(svd(zeros({0, 3, 2}, DType::float32)).vh.shape()), "[0, 2, 2]");
  expect_error([] { svd(zeros({3}, DType::float32)); }, ErrorKind::runtime_error);
  expect_error([] { svd(ones({2, 2}, DType::int64)); }, ErrorKind::runtime_error);
}

// A function of factors that their signs don't change.
Tensor sign_free(const Tensor& columns) { return columns * columns; }

TEST(Spectral, Gradients) {
  using Inputs = std::vector<Tensor>;
  Tensor spread = diag(tensor_of<double>({3}, {1, 3, 6}));
  auto symmetric = [=](const Tensor& x) { return x + transpose(x, -2, -1) + spread; };
  Inputs square = {leaf({3, 3}, 1)}, tall = {leaf({4, 2}, 2)}, wide = {leaf({2, 4}, 3)};
  auto values = [](const Inputs& x) { return svdvals(x[0]); };
  auto of_u = [](const Inputs& x) { return sign_free(svd(x[0]).u); };
  auto of_vh = [](const Inputs& x) { return sign_free(svd(x[0]).vh); };
  auto of_q = [](const Inputs& x) { return sign_free(qr(x[0]).q); };
  auto of_r = [](const Inputs& x) { return sign_free(qr(x[0]).r); };
  check_gradients({
      {"eigh values", [=](const Inputs& x) { return eigh(symmetric(x[0])).values; }, square},
      {"eigh vectors", [=](const Inputs& x) { return sign_free(eigh(symmetric(x[0])).vectors); },
       square},
      {"eigh of a batch",
       [=](const Inputs& x) {
         Eigh factors = eigh(symmetric(x[0]));
         return sign_free(factors.vectors) * unsqueeze(factors.values, -2);
       },
       {leaf({2, 3, 3}, 5)}},
      {"svd values", values, tall},
      {"svd u, tall", of_u, tall},
      {"svd vh, tall", of_vh, tall},
      {"svd u, wide", of_u, wide},
      {"svd vh, wide", of_vh, wide},
      {"svd u, square", of_u, square},
      {"svd of all", [](const Inputs& x) { return product_of(svd(x[0])); }, tall},
      {"qr q, tall", of_q, tall},
      {"qr r, tall", of_r, tall},
      {"qr q, wide", of_q, wide},
      {"qr r, wide", of_r, wide},
  });
}

}  // namespace
}  // namespace simmesh
