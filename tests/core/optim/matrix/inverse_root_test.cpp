#include "core/optim/matrix/inverse_root.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh::optim {
namespace {

using simmesh::testing::expect_error;

// Returns the largest difference of h^root a from 1.
double difference(const Tensor& h, const Tensor& a, std::int64_t root) {
  Tensor product = a;
  for (std::int64_t i = 0; i < root; ++i) product = mm(h, product);
  double largest = 0;
  for (std::int64_t i = 0; i < a.size(0); ++i)
    for (std::int64_t j = 0; j < a.size(0); ++j)
      largest =
          std::max(largest, std::abs(product.values<double>()[std::size_t(i * a.size(0) + j)] -
                                     (i == j ? 1.0 : 0.0)));
  return largest;
}

// If this fails, the preconditioner isn't the root that Shampoo's update asks for. The iteration
// keeps h^root a = m, so h^root a differs from 1 by what m does, 1e-13, and by the roundings of
// fewer than 20 iterations: each less than 10 n 2^-53 of products whose norms are below the
// condition number, here below 100.
TEST(InverseRoot, IsTheRootOfTheInverse) {
  for (std::int64_t n = 1; n <= 6; ++n)
    for (std::int64_t root : {1, 2, 4, 8}) {
      Tensor x =
          formula({n, n}, {.rule = Rule::unit, .seed = std::uint64_t(n), .dtype = DType::float64});
      Tensor a = mm(x, transpose(x, 0, 1));
      for (std::int64_t i = 0; i < n; ++i)
        a.mutable_values<double>()[std::size_t(i * n + i)] += 0.25;
      Tensor h = inverse_root(a, {.root = root, .ridge = 0});
      EXPECT_LT(difference(h, a, root), 1e-13 + 20 * 10 * double(n) * 0x1p-53 * 100) << n << root;
    }
}

// If this fails, gradients without some direction make the root infinite, or a parameter that had
// no gradient yet is lost.
TEST(InverseRoot, SingularMatricesHaveARidge) {
  Tensor h = inverse_root(zeros({2, 2}, DType::float32));
  EXPECT_EQ(h.values<float>()[0], 1.0F);
  EXPECT_EQ(h.values<float>()[1], 0.0F);
  Tensor one = tensor_of<double>({2, 2}, {16, 0, 0, 0});
  Tensor root = inverse_root(one, {.root = 4, .ridge = 0x1p-20});
  // 16 (1 + 2^-20)^(-1/4) and (16 * 2^-20)^(-1/4), to the tolerance and roundings of fewer than 100
  // iterations.
  EXPECT_NEAR(root.values<double>()[0], 0.5 * std::pow(1 + 0x1p-20, -0.25), 100 * 0x1p-50);
  EXPECT_NEAR(root.values<double>()[3], 16.0, 16 * 100 * 0x1p-50);
  EXPECT_EQ(inverse_root(zeros({0, 0}, DType::float32)).numel(), 0);
  expect_error(
      [] {
        inverse_root(zeros({2, 3}, DType::float32));
      },
      ErrorKind::value_error, "a square matrix");
  expect_error([&] { inverse_root(one, {.root = 3}); }, ErrorKind::value_error, "a power of two");
}

}  // namespace
}  // namespace simmesh::optim
