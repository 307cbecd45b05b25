#include "core/ops/neural/rotary.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/registry/registry.h"
#include "core/ops/shapes/joining.h"
#include "core/tensor/formula.h"
#include "tests/core/gradients/gradient_case.h"

namespace simmesh {
namespace {

Tensor rotary_values(std::initializer_list<std::int64_t> shape, std::uint64_t seed) {
  return formula(shape, {.rule = Rule::unit, .seed = seed, .dtype = DType::float64});
}

double dot_product(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values<double>().size(); ++i)
    sum += a.values<double>()[i] * b.values<double>()[i];
  return sum;
}

TEST(Rotary, LeavesTheFirstPositionAsItIs) {
  Tensor x = rotary_values({3, 1, 6}, 1);
  EXPECT_TRUE(same_bits(rotary_embedding(x), x));
}

// Pair i of row t is turned by t * theta^(-2 i / E): the first pair by t itself.
TEST(Rotary, TurnsPairsByTheirAngles) {
  Tensor x = tensor_of<double>({2, 4}, {9, 9, 9, 9, 1, 1, 0, 0});
  Tensor y = rotary_embedding(x, 100.0);
  // cos and sin have fixed bits of their own; both are within an ulp or two of libm's.
  EXPECT_NEAR(y.values<double>()[4], std::cos(1.0), 1e-15);
  EXPECT_NEAR(y.values<double>()[6], std::sin(1.0), 1e-15);
  EXPECT_NEAR(y.values<double>()[5], std::cos(0.1), 1e-15);
  EXPECT_NEAR(y.values<double>()[7], std::sin(0.1), 1e-15);
}

// Attention would not depend on the distance of two positions alone.
TEST(Rotary, ProductsDependOnTheDistanceOfPositions) {
  Tensor q = rotary_values({1, 8}, 2), k = rotary_values({1, 8}, 3),
         zero = zeros({1, 8}, DType::float64);
  auto at = [&](const Tensor& row, std::int64_t position) {
    Tensor rows = zeros({12, 8}, DType::float64);
    Tensor place = rows.narrow({0, position, 1});
    copy_(place, row);
    return rotary_embedding(rows).narrow({0, position, 1}).contiguous();
  };
  double near = dot_product(at(q, 2), at(k, 5));
  // Eight products of numbers below 2, each turned with errors of a few ulps.
  EXPECT_NEAR(dot_product(at(q, 7), at(k, 10)), near, 1e-13);
  EXPECT_GT(std::abs(dot_product(at(q, 2), at(k, 6)) - near), 1e-6);
}

TEST(Rotary, GradientsAreThoseOfItsOps) {
  check_gradients({{"rotary_embedding",
                    [](const std::vector<Tensor>& x) { return rotary_embedding(x[0], 50.0); },
                    {leaf({2, 3, 4}, 1)}}});
}

// The op of a distributed tensor has a gradient of its own.
TEST(Rotary, TheOpHasTheGradientOfItsOps) {
  Attributes attributes = {attribute::theta = 50.0, attribute::is_inverse = false};
  check_gradients({{"rotary_embedding",
                    [&](const std::vector<Tensor>& x) {
                      return call_one(*find_op("rotary_embedding"), {x[0]}, attributes);
                    },
                    {leaf({2, 3, 4}, 1)}}});
}

TEST(Rotary, RefusesAnOddWidth) {
  EXPECT_THROW(rotary_embedding(zeros({2, 3}, DType::float32)), Error);
  EXPECT_THROW(rotary_embedding(zeros({4}, DType::float32)), Error);
}

// Rows that are a part of a sequence are turned as they are in the whole.
TEST(Rotary, TurnsRowsByGivenPositions) {
  Tensor x = rotary_values({2, 5, 6}, 7);
  Tensor whole = rotary_embedding(x, 50.0);
  Tensor rows[] = {x.narrow({1, 3, 1}), x.narrow({1, 1, 2})};
  Tensor expected[] = {whole.narrow({1, 3, 1}), whole.narrow({1, 1, 2})};
  Tensor positions = tensor_of<std::int64_t>({3}, {3, 1, 2});
  EXPECT_TRUE(same_bits(rotary_embedding(cat(rows, 1), positions, 50.0), cat(expected, 1)));
  EXPECT_THROW(rotary_embedding(x, positions), Error);
}

}  // namespace
}  // namespace simmesh
