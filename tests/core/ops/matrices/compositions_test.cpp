#include "core/ops/matrices/compositions.h"

#include <gtest/gtest.h>

#include "tests/core/gradients/gradient_case.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

using Inputs = std::vector<Tensor>;

TEST(Compositions, Values) {
  Tensor a = tensor_of<float>({1, 2}, {1, 2}), b = tensor_of<float>({2, 2}, {1, 0, 3, 1});
  EXPECT_EQ(to_string(kron(a, b)), "float32[2, 4] {1, 0, 2, 0, 3, 1, 6, 2}");
  EXPECT_EQ(to_string(kron(tensor_of<float>({2}, {1, 2}), b)), to_string(kron(a, b)));
  Tensor x = tensor_of<float>({3}, {1, 2, 3}), y = tensor_of<float>({3}, {4, 5, 6});
  EXPECT_EQ(to_string(cross(x, y)), "float32[3] {-3, 6, -3}");
  EXPECT_EQ(to_string(cdist(a, b)), "float32[1, 2] {2, 2.236068}");
  EXPECT_EQ(to_string(cdist(a, b, 1)), "float32[1, 2] {2, 3}");
  Tensor rows = tensor_of<float>({2, 2}, {3, 4, 0.5, 0});
  EXPECT_EQ(to_string(renorm(rows, {.p = 1, .dim = 0, .max_norm = 7})),
            "float32[2, 2] {3, 4, 0.5, 0}");
  EXPECT_EQ(to_string(renorm(rows, {.dim = 0, .max_norm = 0})), "float32[2, 2] {0, 0, 0, 0}");
}

TEST(Compositions, Refusals) {
  Tensor x = zeros({2, 2}, DType::float32);
  expect_error([&] { cross(x, x); }, ErrorKind::runtime_error);
  expect_error([&] { cross(x, x, 0); }, ErrorKind::runtime_error);
  expect_error([&] { cdist(x, zeros({2, 3}, DType::float32)); }, ErrorKind::runtime_error);
  expect_error([&] { renorm(x, {.p = 0}); }, ErrorKind::runtime_error);
}

TEST(Compositions, Gradients) {
  check_gradients({
      {"kron", [](const Inputs& x) { return kron(x[0], x[1]); }, {leaf({2, 2}, 1), leaf({3}, 2)}},
      {"cross",
       [](const Inputs& x) { return cross(x[0], x[1]); },
       {leaf({2, 3}, 3), leaf({1, 3}, 4)}},
      {"cdist",
       [](const Inputs& x) { return cdist(x[0], x[1]); },
       {leaf({2, 3}, 5), leaf({2, 3}, 6)}},
  });
}

}  // namespace
}  // namespace simmesh
