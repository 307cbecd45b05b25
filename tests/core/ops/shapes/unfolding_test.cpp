#include "core/ops/shapes/unfolding.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "tests/core/gradients/gradient_case.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

TEST(Unfolding, ViewsTheWindowsOfADim) {
  Tensor x = to(arange(7), DType::float32);
  Tensor windows = unfold(x, {.dim = 0, .size = 3, .step = 2});
  EXPECT_EQ(to_string(windows.contiguous()), "float32[3, 3] {0, 1, 2, 2, 3, 4, 4, 5, 6}");
  EXPECT_EQ(windows.storage(), x.storage());
  Tensor matrix = x.narrow({.dim = 0, .start = 0, .length = 6}).view(Shape{3, 2});
  EXPECT_EQ(to_string(unfold(matrix, {.dim = -2, .size = 2, .step = 1}).contiguous()),
            "float32[2, 2, 2] {0, 2, 1, 3, 2, 4, 3, 5}");
  EXPECT_EQ(to_string(unfold(full({}, DType::float32, 5), {.size = 1}).contiguous()),
            "float32[1] {5}");
  EXPECT_EQ(to_string(unfold(x, {.size = 0, .step = 7}).shape()), "[2, 0]");
  expect_error([&] { unfold(x, {.size = 8}); }, ErrorKind::runtime_error);
  expect_error([&] { unfold(x, {.size = 1, .step = 0}); }, ErrorKind::runtime_error);
  expect_error([&] { unfold(x, {.dim = 1}); }, ErrorKind::index_error);
}

TEST(Unfolding, GradientsOfOverlapsAndGaps) {
  using Inputs = std::vector<Tensor>;
  auto of = [](const Unfold& windows) {
    return [=](const Inputs& x) {
      Tensor y = unfold(x[0], windows);
      return y * y;
    };
  };
  check_gradients({
      {"overlaps", of({.dim = 1, .size = 3, .step = 1}), {leaf({2, 5, 2}, 1)}},
      {"gaps", of({.dim = 0, .size = 1, .step = 2}), {leaf({5, 2}, 2)}},
      {"last dim", of({.dim = -1, .size = 2, .step = 1}), {leaf({2, 4}, 3)}},
      {"a scalar", of({.size = 1}), {leaf({}, 4)}},
  });
}

// In exact arithmetic a leaf's sum over overlapping windows is rounded once, as that of an index
// is.
TEST(Unfolding, CarriesTheSumsOfALeaf) {
  Tensor indices = tensor_of<std::int64_t>({9}, {0, 1, 2, 1, 2, 3, 2, 3, 4});
  Tensor upstream = formula({9, 2}, {.rule = Rule::unit, .seed = 6});
  auto gradient = [&](bool unfolds) {
    Tensor x = formula({5, 2}, {.rule = Rule::unit, .seed = 5});
    set_requires_grad(x);
    Tensor rows = unfolds ? reshape(transpose(unfold(x, {.size = 3}), 1, 2), {9, 2})
                          : index_select(x, 0, indices);
    backward(rows, {.gradients = {upstream}});
    return grad_of(x);
  };
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  EXPECT_TRUE(same_bits(gradient(true), gradient(false)));
}

}  // namespace
}  // namespace simmesh
