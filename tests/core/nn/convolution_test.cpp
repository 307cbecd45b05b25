#include "core/nn/convolution.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/ops/neural/convolution.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

// If this fails, a module convolves with other options than it was made with, or drops its bias.
TEST(Conv2dModule, ConvolvesWithItsOptions) {
  for (bool bias : {true, false}) {
    nn::Conv2d module({.in = 2, .out = 3, .size = 3, .stride = 2, .padding = 1, .bias = bias});
    EXPECT_EQ(module.parameters().size(), bias ? 2u : 1u);
    Tensor x = formula({1, 2, 5, 7}, {.seed = 3});
    Tensor expected =
        conv2d(x, module.parameter("weight"), bias ? module.parameter("bias") : Tensor(),
               {.stride = {2, 2}, .padding = {1, 1}});
    EXPECT_EQ(expected.shape(), (Shape{1, 3, 3, 4}));
    EXPECT_TRUE(same_bits(module.forward({x})[0], expected));
  }
}

// PyTorch draws weights and biases from [-b, b] with b = 1 / sqrt(in * size * size).
TEST(Conv2dModule, DrawsParametersWithinPyTorchsBound) {
  nn::Conv2d module({.in = 4, .out = 8, .size = 3});
  const double bound = 1 / std::sqrt(4.0 * 3 * 3);
  for (const char* name : {"weight", "bias"}) {
    double largest = 0;
    const Tensor& parameter = module.parameter(name);
    for (float value : parameter.values<float>())
      largest = std::max(largest, std::fabs(double(value)));
    EXPECT_LE(largest, bound) << name;
    EXPECT_GT(largest, bound / 2) << name;
  }
}

}  // namespace
}  // namespace simmesh
