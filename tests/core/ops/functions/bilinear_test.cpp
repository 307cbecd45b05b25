#include "core/ops/functions/bilinear.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

// If this fails, the two factors of the form are exchanged, or rows are mixed.
TEST(Bilinear, IsAFormOfTwoRows) {
  Tensor a = tensor_of<float>({2, 2}, {1, 2, 0, 1}),
         b = tensor_of<float>({2, 3}, {1, 0, 2, 0, 1, 0});
  Tensor weight = tensor_of<float>({1, 2, 3}, {1, 2, 3, 10, 20, 30});
  EXPECT_EQ(to_string(bilinear(a, b, weight)), "float32[2, 1] {147, 20}");
  EXPECT_EQ(to_string(bilinear(a, b, weight, tensor_of<float>({1}, {0.5}))),
            "float32[2, 1] {147.5, 20.5}");
  testing::expect_error([&] { bilinear(b, a, weight); }, ErrorKind::runtime_error, "bilinear");
  testing::expect_error([&] { bilinear(a, b, weight, a); }, ErrorKind::runtime_error, "bilinear");
}

}  // namespace
}  // namespace simmesh
