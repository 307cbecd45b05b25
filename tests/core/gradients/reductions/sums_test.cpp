#include <gtest/gtest.h>

#include "core/ops/elementwise/pointwise.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/reductions/reductions.h"
#include "tests/core/gradients/gradient_case.h"

namespace simmesh {
namespace {

using Inputs = std::vector<Tensor>;
constexpr double endless = std::numeric_limits<double>::infinity();

Tensor with_zeros(std::initializer_list<double> values) {
  Tensor x = tensor_of<double>({2, 3}, values);
  set_requires_grad(x);
  return x;
}

TEST(ReductionGradients, OfSumsAndExtremes) {
  Inputs x = {leaf({2, 3, 2}, 1)};
  check_gradients({
      {"sum", [](const Inputs& in) { return sum(in[0] * in[0]); }, x},
      {"sum of dims",
       [](const Inputs& in) {
         return sum(in[0] * in[0], {0, 2});
       },
       x},
      {"sum kept", [](const Inputs& in) { return sum(in[0] * in[0], 1, true); }, x},
      {"mean", [](const Inputs& in) { return mean(in[0] * in[0], -1); }, x},
      {"nansum", [](const Inputs& in) { return nansum(in[0], 1); }, x},
      {"prod", [](const Inputs& in) { return prod(in[0]); }, x},
      {"prod of a dim", [](const Inputs& in) { return prod(in[0], 1); }, x},
      {"amax",
       [](const Inputs& in) {
         return amax(in[0], {0, 2}) * 2;
       },
       x},
      {"amin", [](const Inputs& in) { return amin(in[0], 1, true); }, x},
      {"max", [](const Inputs& in) { return max(in[0]); }, x},
      {"max of a dim", [](const Inputs& in) { return max(in[0] * in[0], 1).values; }, x},
      {"min of a dim", [](const Inputs& in) { return min(in[0], -1, true).values; }, x},
      {"cumsum", [](const Inputs& in) { return cumsum(in[0] * in[0], 1); }, x},
      {"cumprod", [](const Inputs& in) { return cumprod(in[0], 1); }, x},
  });
}

// At zeros the quotient of product and factor says nothing.
TEST(ReductionGradients, OfProductsWithZeros) {
  GradcheckOptions first_order{.second_order = false};
  for (const Tensor& x : {with_zeros({2, 0, 3, 0, 0, 4}), with_zeros({0, 5, 3, 2, 3, 0})}) {
    EXPECT_EQ(gradcheck([](const Inputs& in) { return Inputs{prod(in[0], 1)}; }, {x}, first_order),
              "");
    EXPECT_EQ(
        gradcheck([](const Inputs& in) { return Inputs{cumprod(in[0], 1)}; }, {x}, first_order),
        "");
  }
}

TEST(ReductionGradients, OfStatistics) {
  Inputs x = {leaf({2, 3, 2}, 1)};
  auto norm_of = [](double p) {
    return [p](const Inputs& in) { return vector_norm(in[0], p, 1); };
  };
  check_gradients({
      {"var", [](const Inputs& in) { return var(in[0], 1); }, x},
      {"std",
       [](const Inputs& in) {
         return std(in[0], {0, 1}, {.correction = 0, .keepdim = true});
       },
       x},
      {"var_mean, variance", [](const Inputs& in) { return var_mean(in[0], 1).variance; }, x},
      {"var_mean, both",
       [](const Inputs& in) {
         VarianceAndMean both = var_mean(in[0], 1);
         return both.variance * both.mean;
       },
       x},
      {"logsumexp",
       [](const Inputs& in) {
         return logsumexp(in[0], {0, 1});
       },
       x},
      {"norm 2", norm_of(2), x},
      {"norm 1", norm_of(1), x},
      {"norm 3", norm_of(3), x},
      {"norm 1.5", norm_of(1.5), x},
      {"norm 0.5", norm_of(0.5), x},
      {"norm inf", norm_of(endless), x},
      {"norm -inf", norm_of(-endless), x},
      {"softmax", [](const Inputs& in) { return softmax(in[0], 1); }, x},
      {"log_softmax", [](const Inputs& in) { return log_softmax(in[0], 0); }, x},
  });
}

}  // namespace
}  // namespace simmesh
