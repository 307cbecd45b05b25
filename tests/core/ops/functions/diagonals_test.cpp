#include "core/ops/functions/diagonals.h"

#include <gtest/gtest.h>

#include "core/ops/elementwise/pointwise.h"
#include "tests/core/gradients/gradient_case.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

TEST(Diagonals, OfVectorsAndMatrices) {
  Tensor v = tensor_of<float>({2}, {1, 2}), m = tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(to_string(diag(v)), "float32[2, 2] {1, 0, 0, 2}");
  EXPECT_EQ(to_string(diag(v, 1)), "float32[3, 3] {0, 1, 0, 0, 0, 2, 0, 0, 0}");
  EXPECT_EQ(to_string(diag(v, -1)), "float32[3, 3] {0, 0, 0, 1, 0, 0, 0, 2, 0}");
  EXPECT_EQ(to_string(diag(m, 1)), "float32[2] {2, 6}");
  EXPECT_EQ(to_string(trace(m)), "float32[] {6}");
  EXPECT_EQ(to_string(diag_embed(m).shape()), "[2, 3, 3]");
  expect_error([] { diag(zeros({}, DType::float32)); }, ErrorKind::runtime_error);
  expect_error([&] { trace(v); }, ErrorKind::runtime_error);
}

TEST(Diagonals, Gradients) {
  using Inputs = std::vector<Tensor>;
  check_gradients({
      {"diag", [](const Inputs& x) { return diag(x[0] * x[0], -1); }, {leaf({3}, 1)}},
      {"diag of a matrix", [](const Inputs& x) { return diag(x[0] * x[0]); }, {leaf({2, 3}, 2)}},
      {"diag_embed", [](const Inputs& x) { return diag_embed(x[0] * x[0], 1); }, {leaf({2, 2}, 3)}},
      {"trace", [](const Inputs& x) { return trace(x[0] * x[0]); }, {leaf({2, 3}, 4)}},
  });
}

}  // namespace
}  // namespace simmesh
