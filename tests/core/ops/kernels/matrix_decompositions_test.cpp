#include "core/ops/kernels/matrix_decompositions.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect_error.h"

// Each decomposition is put together again. With sizes of at most 3 and elements of at most 6 the
// rounding of some dozen operations stays below 1e-13.
namespace simmesh {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

constexpr double bound = 1e-13;

Matrix made(std::int64_t rows, std::int64_t columns, std::vector<double> values) {
  return {rows, columns, std::move(values)};
}

Matrix times_transposed(const Matrix& a, const Matrix& b, const std::vector<double>& scales) {
  Matrix product = made(a.rows, b.rows, std::vector<double>(std::size_t(a.rows * b.rows)));
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < b.rows; ++j)
      for (std::int64_t k = 0; k < a.columns; ++k)
        product(i, j) += a(i, k) * scales[std::size_t(k)] * b(j, k);
  return product;
}

std::vector<double> ones_of(std::int64_t count) {
  return std::vector<double>(std::size_t(count), 1.0);
}

Matrix turned_over(const Matrix& a) {
  Matrix result = made(a.columns, a.rows, a.values);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j) result(j, i) = a(i, j);
  return result;
}

void expect_near(const Matrix& actual, const Matrix& expected) {
  EXPECT_EQ(actual.rows, expected.rows);
  EXPECT_EQ(actual.columns, expected.columns);
  EXPECT_THAT(actual.values, Pointwise(DoubleNear(bound), expected.values));
}

void expect_orthonormal_columns(const Matrix& q) {
  Matrix rows = turned_over(q), unit = made(q.columns, q.columns, {});
  for (std::int64_t i = 0; i < q.columns; ++i)
    for (std::int64_t j = 0; j < q.columns; ++j) unit.values.push_back(i == j ? 1 : 0);
  expect_near(times_transposed(rows, rows, ones_of(q.rows)), unit);
}

TEST(MatrixDecompositions, CholeskyReadsTheLowerTriangle) {
  Matrix a = made(2, 2, {4, 99, 2, 10});
  Matrix factor = cholesky_factor(a);
  EXPECT_EQ(factor.values, (std::vector<double>{2, 0, 1, 3}));
  testing::expect_error(
      [] {
        cholesky_factor(made(2, 2, {1, 2, 2, 1}));
      },
      ErrorKind::runtime_error, "");
}

// If this fails, a determinant has the wrong sign after rows were exchanged.
TEST(MatrixDecompositions, EliminationSolvesAndCountsExchanges) {
  Elimination found = eliminated(made(2, 2, {0, 2, 4, 6}), made(2, 1, {2, 10}));
  EXPECT_EQ(found.solution.values, (std::vector<double>{1, 1}));
  EXPECT_EQ(found.determinant, -8);
  EXPECT_EQ(found.sign, -1);
  EXPECT_NEAR(found.log_determinant, std::log(8.0), bound);
  EXPECT_FALSE(found.singular);
  EXPECT_TRUE(eliminated(made(2, 2, {1, 2, 2, 4}), made(2, 1, {1, 1})).singular);
}

TEST(MatrixDecompositions, ReflectionsGiveOrthonormalColumnsAndATriangle) {
  for (const Matrix& a : {made(3, 2, {1, 2, 3, 4, 5, 6}), made(2, 3, {1, 2, 3, 4, 5, 6})}) {
    Reflections found = reflected(a);
    expect_orthonormal_columns(found.q);
    EXPECT_EQ(found.r(1, 0), 0);
    expect_near(times_transposed(found.q, turned_over(found.r), ones_of(2)), a);
  }
}

TEST(MatrixDecompositions, RotationsGiveAscendingEigenvalues) {
  Matrix a = made(3, 3, {2, 1, 0, 1, 3, 1, 0, 1, 4});
  Rotations found = rotated(a);
  EXPECT_TRUE(std::is_sorted(found.values.begin(), found.values.end()));
  expect_orthonormal_columns(found.vectors);
  expect_near(times_transposed(found.vectors, found.vectors, found.values), a);
}

// If this fails, the columns beyond a matrix's rank aren't orthogonal to the others.
TEST(MatrixDecompositions, SingularValuesDescendAndColumnsAreCompleted) {
  for (const Matrix& a : {made(3, 2, {1, 2, 3, 4, 5, 6}), made(2, 3, {1, 2, 3, 4, 5, 6}),
                          made(3, 2, {1, 2, 2, 4, 3, 6})}) {
    Singular found = singular(a);
    ASSERT_EQ(found.values.size(), 2u);
    EXPECT_GE(found.values[0], found.values[1]);
    expect_orthonormal_columns(found.u);
    expect_orthonormal_columns(found.v);
    expect_near(times_transposed(found.u, found.v, found.values), a);
  }
}

}  // namespace
}  // namespace simmesh
