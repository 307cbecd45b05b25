#include "core/ops/matrices/linear_algebra.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/kernels/matrix_batch.h"
#include "core/ops/matrices/products.h"
#include "core/ops/matrices/spectral.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"
#include "tests/core/gradients/gradient_case.h"

namespace simmesh {
namespace {

// For matrices of up to 8 with elements below one, products of the factors are off by some dozens
// of roundings of 2^-53 each.
constexpr double solution_bound = 0x1p-44;

double distance(const Tensor& a, const Tensor& b) {
  Tensor difference = sub(a, b).contiguous();
  double largest = 0;
  for (double x : difference.values<double>()) largest = std::max(largest, std::fabs(x));
  return largest;
}

Tensor random(const Shape& shape, std::uint64_t seed) {
  return formula(shape, {.rule = Rule::unit, .seed = seed, .dtype = DType::float64});
}

Tensor symmetric(const Shape& shape, std::uint64_t seed) {
  Tensor a = random(shape, seed);
  return add(a, adjoint(a));
}

TEST(LinearAlgebra, CholeskyFactorsAreLowerTriangular) {
  Tensor a = random(Shape{2, 5, 5}, 1);
  Tensor definite = add(matmul(a, adjoint(a)), eye(5, {}, DType::float64));
  Tensor l = cholesky(definite);
  EXPECT_LT(distance(matmul(l, adjoint(l)), definite), solution_bound);
  EXPECT_TRUE(same_bits(l, tril(l)));
  EXPECT_THROW(cholesky(neg(definite)), Error);
  EXPECT_THROW(cholesky(random(Shape{2, 3}, 1)), Error);
}

TEST(LinearAlgebra, SolveInverseAndDet) {
  Tensor a = add(random(Shape{3, 4, 4}, 2), mul(eye(4, {}, DType::float64), 3)),
         b = random(Shape{3, 4, 2}, 3);
  EXPECT_LT(distance(matmul(a, solve(a, b)), b), solution_bound);
  EXPECT_LT(distance(matmul(a, inverse(a)), expand(eye(4, {}, DType::float64), {3, 4, 4})),
            solution_bound);
  EXPECT_EQ(to_string(det(tensor_of<float>({2, 2}, {0, 2, 3, 4}))), "float32[] {-6}");
  EXPECT_EQ(to_string(det(tensor_of<float>({2, 2}, {1, 2, 2, 4}))), "float32[] {0}");
  EXPECT_EQ(to_string(det(empty({0, 0}, DType::float32))), "float32[] {1}");
  EXPECT_THROW(inverse(zeros({2, 2}, DType::float32)), Error);
  EXPECT_THROW(solve(a, random(Shape{3, 5, 2}, 1)), Error);
  EXPECT_THROW(det(ones({2, 2}, DType::int64)), Error);
}

TEST(LinearAlgebra, QrOfTallAndWideMatrices) {
  for (const Shape& shape : {Shape{5, 3}, Shape{3, 5}, Shape{4, 4}, Shape{1, 3}, Shape{3, 1}}) {
    Tensor a = random(shape, 4);
    auto [q, r] = qr(a);
    EXPECT_LT(distance(mm(q, r), a), solution_bound);
    EXPECT_LT(distance(mm(t(q), q), eye(q.size(1), {}, DType::float64)), solution_bound);
    EXPECT_TRUE(same_bits(r, triu(r)));
  }
}

TEST(LinearAlgebra, EighSortsItsValues) {
  Tensor a = symmetric(Shape{2, 6, 6}, 5);
  auto [values, vectors] = eigh(a);
  EXPECT_LT(distance(matmul(a, vectors), mul(vectors, unsqueeze(values, -2))), solution_bound);
  EXPECT_LT(
      distance(matmul(adjoint(vectors), vectors), expand(eye(6, {}, DType::float64), {2, 6, 6})),
      solution_bound);
  for (std::int64_t i = 1; i < 6; ++i)
    EXPECT_LE(values.values<double>()[std::size_t(i - 1)], values.values<double>()[std::size_t(i)]);
  EXPECT_EQ(to_string(eigh(eye(2)).values), "float32[2] {1, 1}");
}

TEST(LinearAlgebra, LogarithmsOfDeterminantsStayInRange) {
  Tensor a = mul(eye(40, {}, DType::float32), 1e-3);
  EXPECT_EQ(to_string(det(a)), "float32[] {0}");
  EXPECT_EQ(to_string(logdet(a)), "float32[] {-276.3102}");
  Tensor turned = tensor_of<double>({2, 2}, {0, 2, 3, 4});
  EXPECT_EQ(to_string(slogdet(turned).sign), "float64[] {-1}");
  EXPECT_EQ(to_string(to(slogdet(turned).logarithm, DType::float32)), "float32[] {1.7917595}");
  EXPECT_EQ(to_string(isnan(logdet(turned))), "bool[] {true}");
  EXPECT_EQ(to_string(slogdet(zeros({2, 2}, DType::float32)).logarithm), "float32[] {-inf}");
  EXPECT_EQ(to_string(slogdet(zeros({2, 2}, DType::float32)).sign), "float32[] {0}");
  EXPECT_EQ(to_string(logdet(zeros({0, 0}, DType::float32))), "float32[] {0}");
}

TEST(LinearAlgebra, Gradients) {
  using Inputs = std::vector<Tensor>;
  std::vector<Tensor> x = {leaf({2, 3, 3}, 1), leaf({2, 3, 2}, 2)};
  Tensor unit = eye(3, {}, DType::float64);
  auto regular = [=](const Tensor& a) { return a + unit * 3; };
  check_gradients({
      {"cholesky",
       [=](const Inputs& in) { return cholesky(matmul(in[0], transpose(in[0], -2, -1)) + unit); },
       {x[0]}},
      {"solve", [=](const Inputs& in) { return solve(regular(in[0]), in[1]); }, x},
      {"inverse", [=](const Inputs& in) { return inverse(regular(in[0])); }, {x[0]}},
      {"det", [=](const Inputs& in) { return det(regular(in[0])); }, {x[0]}},
      {"slogdet", [=](const Inputs& in) { return slogdet(regular(in[0])).logarithm; }, {x[0]}},
      {"logdet", [=](const Inputs& in) { return logdet(regular(in[0])); }, {x[0]}},
  });
}

}  // namespace
}  // namespace simmesh
