#include <gmock/gmock.h>

#include "core/autograd/backward.h"
#include "core/autograd/function.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"

// A node that passes gradients on must not change a bit of any sum.
namespace simmesh {
namespace {

using ::testing::ElementsAre;

Tensor passed(const Tensor& tensor, std::vector<int>& calls, int number) {
  Tensor output = tensor;
  record_function("pass", {tensor}, {&output},
                  [&calls, number](const std::vector<Tensor>& gradients) {
                    calls.push_back(number);
                    return gradients;
                  },
                  {.passes_on = true});
  return output;
}

// x is used three times through two nodes and once beside them, with terms whose order shows.
Tensor gradient_of(bool is_passed, std::vector<int>& calls) {
  Tensor leaf = full({1}, DType::float32, 1.0);
  set_requires_grad(leaf);
  Tensor x = mul(leaf, 1.0);
  Tensor inner = is_passed ? passed(passed(x, calls, 1), calls, 2) : x;
  Tensor sum = mul(inner, 1e8);
  sum = add(sum, mul(inner, 1.0));
  sum = add(sum, mul(inner, -1e8));
  sum = add(sum, mul(x, 3.0));
  backward(sum);
  return grad_of(leaf);
}

TEST(PassingNode, LeavesTheOrderOfSums) {
  std::vector<int> calls, none;
  EXPECT_TRUE(same_bits(gradient_of(true, calls), gradient_of(false, none)));
  EXPECT_THAT(calls, ElementsAre(2, 1)) << "each is called once, the outer one first";
}

// A hook of a tensor after the node, and `grad`, still see whole gradients.
TEST(PassingNode, ShowsWholeGradientsToWhoAsks) {
  std::vector<int> calls;
  Tensor leaf = full({1}, DType::float32, 2.0);
  set_requires_grad(leaf);
  Tensor x = mul(leaf, 1.0), inner = passed(x, calls, 1);
  std::vector<float> seen;
  register_hook(inner, [&](const Tensor& gradient) {
    seen.push_back(gradient.values<float>()[0]);
    return Tensor();
  });
  Tensor y = add(mul(inner, 3.0), mul(inner, 4.0));
  backward(y, {.retain_graph = true});
  EXPECT_THAT(seen, ElementsAre(7.0f));
  EXPECT_EQ(grad_of(leaf).values<float>()[0], 7.0f);
  EXPECT_EQ(grad({y}, {inner})[0].values<float>()[0], 7.0f);
}

}  // namespace
}  // namespace simmesh
