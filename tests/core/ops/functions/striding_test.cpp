#include "core/ops/functions/striding.h"

#include <gtest/gtest.h>

#include "tests/core/gradients/gradient_case.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

TEST(Striding, ReadsAtStrides) {
  Tensor x = tensor_of<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  Tensor turned = as_strided(x, Dims{3, 2}, Dims{1, 3});
  EXPECT_EQ(turned.storage(), x.storage());
  EXPECT_EQ(to_string(turned), "float32[3, 2] {0, 3, 1, 4, 2, 5}");
  EXPECT_EQ(to_string(as_strided(x, Dims{2, 2}, Dims{1, 1}, 2)), "float32[2, 2] {2, 3, 3, 4}");
  expect_error([&] { as_strided(x, Dims{4}, Dims{2}); }, ErrorKind::runtime_error);
  expect_error([&] { as_strided(x, Dims{4}, Dims{}); }, ErrorKind::runtime_error);
}

TEST(Striding, Gradients) {
  check_gradients({{"as_strided",
                    [](const std::vector<Tensor>& x) {
                      return as_strided(x[0], Dims{2, 2}, Dims{1, 1}, 2);
                    },
                    {leaf({2, 3}, 1)}}});
}

}  // namespace
}  // namespace simmesh
