#include "core/ops/indexing/view_scattering.h"

#include <gtest/gtest.h>

#include "tests/core/gradients/gradient_case.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

TEST(ViewScattering, WritesWhereTheViewReads) {
  Tensor x = tensor_of<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  Tensor row = tensor_of<float>({3}, {7, 8, 9}), column = tensor_of<float>({2, 1}, {7, 8});
  EXPECT_EQ(to_string(select_scatter(x, row, 0, -1)), "float32[2, 3] {0, 1, 2, 7, 8, 9}");
  EXPECT_EQ(to_string(slice_scatter(x, column, {.dim = -1, .start = 1, .end = 2})),
            "float32[2, 3] {0, 7, 2, 3, 8, 5}");
  Tensor both = tensor_of<float>({2, 2}, {6, 7, 8, 9});
  EXPECT_EQ(to_string(slice_scatter(x, both, {.dim = 1, .step = 2})),
            "float32[2, 3] {6, 1, 7, 8, 4, 9}");
  expect_error([&] { select_scatter(x, column, 0, 0); }, ErrorKind::runtime_error);
  expect_error([&] { select_scatter(x, row, 0, 2); }, ErrorKind::index_error);
}

TEST(ViewScattering, Gradients) {
  using Inputs = std::vector<Tensor>;
  check_gradients({
      {"select",
       [](const Inputs& x) { return select_scatter(x[0], x[1], 1, 2); },
       {leaf({2, 3}, 1), leaf({2}, 2)}},
      {"slice",
       [](const Inputs& x) { return slice_scatter(x[0], x[1], {.dim = 1, .step = 2}); },
       {leaf({2, 3}, 3), leaf({2, 2}, 4)}},
  });
}

}  // namespace
}  // namespace simmesh
