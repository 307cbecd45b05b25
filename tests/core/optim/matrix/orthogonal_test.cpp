#include "core/optim/matrix/orthogonal.h"

#include <gtest/gtest.h>

#include "core/ops/shapes/factories.h"
#include "core/tensor/convert.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh::optim {
namespace {

using simmesh::testing::expect_error;

Tensor unit_matrix(DimSpan shape, std::uint64_t seed, DType dtype = DType::float32) {
  return formula(shape, {.rule = Rule::unit, .seed = seed, .dtype = dtype});
}

std::vector<double> orthogonal_elements(const Tensor& tensor) {
  Tensor wide = converted(tensor.contiguous(), DType::float64);
  return {wide.values<double>().begin(), wide.values<double>().end()};
}

// If this fails, the iteration works on the longer side, or on another matrix.
TEST(QuinticIteration, TransposesWithItsInput) {
  Tensor wide = unit_matrix(Shape{3, 7}, 5), high = empty({7, 3}, DType::float32);
  for (std::int64_t row = 0; row < 3; ++row)
    for (std::int64_t column = 0; column < 7; ++column)
      high.mutable_values<float>()[column * 3 + row] = wide.values<float>()[row * 7 + column];
  std::vector<double> of_wide = orthogonal_elements(orthogonalized_by_quintic(wide));
  std::vector<double> of_high = orthogonal_elements(orthogonalized_by_quintic(high));
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 7; ++column)
      EXPECT_EQ(of_wide[row * 7 + column], of_high[column * 3 + row]);
}

// If this fails, products are rounded twice or not at all. One step on (3, 4): X is (0.6015625,
// 0.80078125) in bfloat16, X X^T = 1.0031.. becomes 1, b + c = -2.7435 becomes -2.75, and a X -
// 2.75 X is rounded once.
TEST(QuinticIteration, RoundsEachProductOnce) {
  Tensor x = empty({1, 2}, DType::float32);
  x.mutable_values<float>()[0] = 3;
  x.mutable_values<float>()[1] = 4;
  Tensor one = orthogonalized_by_quintic(x, {.steps = 1});
  EXPECT_EQ(one.dtype(), DType::bfloat16);
  EXPECT_EQ(orthogonal_elements(orthogonalized_by_quintic(x, {.steps = 0})),
            (std::vector<double>{0.6015625, 0.80078125}));
  double b_rounded = -2.75, a = double(3.4445F);
  auto rounded = [](double value) {
    return double(static_cast<float>(static_cast<BFloat16>(static_cast<float>(value))));
  };
  EXPECT_EQ(orthogonal_elements(one), (std::vector<double>{rounded((a + b_rounded) * 0.6015625),
                                                           rounded((a + b_rounded) * 0.80078125)}));
}

TEST(QuinticIteration, RefusesWhatPyTorchRefuses) {
  Tensor x = unit_matrix(Shape{2, 2}, 1);
  auto refused = [&](const QuinticIteration& iteration, const char* phrase) {
    expect_error([&] { orthogonalized_by_quintic(x, iteration); }, ErrorKind::value_error, phrase);
  };
  refused({.steps = 100}, "less than 100");
  refused({.coefficients = {1, 2}}, "exactly 3 values");
  expect_error([] { orthogonalized_by_quintic(zeros({3}, DType::float32)); },
               ErrorKind::value_error, "2D matrix");
  EXPECT_EQ(orthogonal_elements(orthogonalized_by_quintic(x, {.steps = -1})),
            orthogonal_elements(orthogonalized_by_quintic(x, {.steps = 0})));
}

}  // namespace
}  // namespace simmesh::optim
