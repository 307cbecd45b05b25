#include "core/ops/indexing/scattering.h"

#include <gtest/gtest.h>

#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/shapes/factories.h"
#include "tests/core/gradients/gradient_case.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

using Whole = std::int64_t;

TEST(Scattering, CopiesAndFillsAlongADim) {
  Tensor x = zeros({2, 3}, DType::float32);
  Tensor index = tensor_of<Whole>({2}, {2, 0}), source = tensor_of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(to_string(index_copy(x, 1, index, source)), "float32[2, 3] {2, 0, 1, 4, 0, 3}");
  EXPECT_EQ(to_string(index_fill(x, 1, index, 7)), "float32[2, 3] {7, 0, 7, 7, 0, 7}");
  EXPECT_EQ(to_string(index_fill(full({}, DType::float32, 1), 0, tensor_of<Whole>({1}, {0}), 2)),
            "float32[] {2}");
  expect_error([&] { index_copy(x, 0, index, source); }, ErrorKind::runtime_error);
  expect_error([&] { index_fill(x, 0, index, 1); }, ErrorKind::index_error);
}

TEST(Scattering, GradientsOfCopiesAndFills) {
  Tensor index = tensor_of<Whole>({2}, {2, 0});
  using Inputs = std::vector<Tensor>;
  check_gradients({
      {"index_copy",
       [=](const Inputs& x) { return index_copy(x[0] * x[0], 1, index, x[1] * x[1]); },
       {leaf({2, 3}, 1), leaf({2, 2}, 2)}},
      {"index_fill",
       [=](const Inputs& x) { return index_fill(x[0] * x[0], 1, index, 3); },
       {leaf({2, 3}, 1)}},
  });
}

// In exact arithmetic no order of the terms changes a bit; chains of such data would.
TEST(Scattering, ExactSumsDontDependOnOrder) {
  constexpr Whole count = 300, width = 3;
  Tensor source = formula({count, width}, {.rule = Rule::unit, .seed = 3});
  Tensor index =
      formula({count}, {.rule = Rule::index, .seed = 4, .below = 5, .dtype = DType::int64});
  Tensor x = formula({5, width}, {.rule = Rule::unit, .seed = 5});
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16})
    for (double alpha : {1.0, -0.75}) {
      Tensor start = to(x, dtype), terms = to(source, dtype);
      Tensor forward = index_add(start, 0, index, terms, alpha);
      Tensor backward = index_add(start, 0, flip(index, {0}), flip(terms, {0}), alpha);
      EXPECT_TRUE(same_bits(forward, backward)) << to_string(dtype);
    }
}

}  // namespace
}  // namespace simmesh
