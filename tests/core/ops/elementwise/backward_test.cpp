#include "core/ops/elementwise/backward.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "tests/core/gradients/gradient_case.h"

namespace simmesh {
namespace {

using Inputs = std::vector<Tensor>;

TEST(Backward, IsTheGradientTimesTheSlope) {
  Tensor g = tensor_of<float>({3}, {2, 3, 4}), x = tensor_of<float>({3}, {-1, 0, 0.5});
  EXPECT_EQ(to_string(threshold_backward(g, x, 0)), "float32[3] {0, 0, 4}");
  EXPECT_EQ(to_string(sigmoid_backward(g, x)), "float32[3] {-4, 0, 1}");
  EXPECT_EQ(to_string(tanh_backward(g, x)), "float32[3] {0, 3, 3}");
  EXPECT_EQ(to_string(silu_backward(g, zeros({3}, DType::float32))), "float32[3] {1, 1.5, 2}");
  for (Gelu form : {Gelu::none, Gelu::tanh})
    EXPECT_EQ(to_string(gelu_backward(g, zeros({3}, DType::float32), form)),
              "float32[3] {1, 1.5, 2}");
}

// The gradient of a function and the op give one tensor.
TEST(Backward, IsWhatTheTapeRuns) {
  Tensor x = tensor_of<float>({4}, {-3, -0.25, 0.5, 2}), g = tensor_of<float>({4}, {1, 2, 3, 4});
  set_requires_grad(x);
  Tensor y = gelu(x, Gelu::tanh);
  backward(y, {.gradients = {g}});
  EXPECT_EQ(difference_in_bits(grad_of(x), gelu_backward(g, x.detach(), Gelu::tanh)), "");
}

TEST(Backward, HasGradientsOfItsOwn) {
  check_gradients({
      {"sigmoid",
       [](const Inputs& x) { return sigmoid_backward(x[0], x[1]); },
       {leaf({3}, 1), leaf({3}, 2)}},
      {"tanh",
       [](const Inputs& x) { return tanh_backward(x[0], x[1]); },
       {leaf({3}, 3), leaf({3}, 4)}},
      {"silu",
       [](const Inputs& x) { return silu_backward(x[0], x[1]); },
       {leaf({3}, 5), leaf({3}, 6)}},
      {"gelu",
       [](const Inputs& x) { return gelu_backward(x[0], x[1]); },
       {leaf({3}, 7), leaf({3}, 8)}},
      {"gelu by tanh",
       [](const Inputs& x) { return gelu_backward(x[0], x[1], Gelu::tanh); },
       {leaf({3}, 9), leaf({3}, 10)}},
      {"threshold",
       [](const Inputs& x) { return threshold_backward(x[0], x[1], 0.1); },
       {leaf({3}, 11), leaf({3}, 12)}},
  });
}

}  // namespace
}  // namespace simmesh
