#include "core/ops/neural/softmax_backward.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/neural/softmax.h"
#include "tests/core/gradients/gradient_case.h"

namespace simmesh {
namespace {

using Inputs = std::vector<Tensor>;

TEST(SoftmaxBackward, IsWhatTheTapeRuns) {
  Tensor x = tensor_of<float>({2, 2}, {0, 1, -2, 3}), g = tensor_of<float>({2, 2}, {1, 2, 3, 4});
  for (std::int64_t dim : {0, -1}) {
    Tensor leaf_of_softmax = x.clone(), leaf_of_log = x.clone();
    set_requires_grad(leaf_of_softmax);
    set_requires_grad(leaf_of_log);
    Tensor y = softmax(leaf_of_softmax, dim), likely = log_softmax(leaf_of_log, dim);
    backward(y, {.gradients = {g}});
    backward(likely, {.gradients = {g}});
    EXPECT_EQ(difference_in_bits(grad_of(leaf_of_softmax), softmax_backward(g, y.detach(), dim)),
              "");
    EXPECT_EQ(
        difference_in_bits(grad_of(leaf_of_log), log_softmax_backward(g, likely.detach(), dim)),
        "");
  }
}

TEST(SoftmaxBackward, HasGradientsOfItsOwn) {
  check_gradients({
      {"softmax",
       [](const Inputs& x) { return softmax_backward(x[0], x[1], 1); },
       {leaf({2, 3}, 1), leaf({2, 3}, 2)}},
      {"log_softmax",
       [](const Inputs& x) { return log_softmax_backward(x[0], x[1], 0); },
       {leaf({2, 3}, 3), leaf({2, 3}, 4)}},
  });
}

}  // namespace
}  // namespace simmesh
