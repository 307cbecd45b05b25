#include "core/autograd/gradcheck.h"

#include <gtest/gtest.h>

#include "core/autograd/function.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

Tensor cube_leaf() {
  Tensor x = formula({3}, {.rule = Rule::unit, .seed = 5, .dtype = DType::float64});
  set_requires_grad(x);
  return x;
}

TEST(Gradcheck, AcceptsRightGradients) {
  EXPECT_EQ(gradcheck([](const auto& in) { return std::vector{mul(in[0], in[0])}; }, {cube_leaf()}),
            "");
}

TEST(Gradcheck, NamesAWrongGradient) {
  auto wrong = [](const std::vector<Tensor>& in) {
    Tensor y = mul(in[0].detach(), in[0].detach());
    record_function("wrong", {in[0]}, {&y}, [x = in[0].detach()](const auto& gradients) {
      return std::vector{mul(gradients[0], x)};
    });
    return std::vector{y};
  };
  EXPECT_NE(gradcheck(wrong, {cube_leaf()}).find("the gradient of input 0, element 0"),
            std::string::npos);
}

// d(x^2) = 2x is right, but recorded as if 2x were a constant.
TEST(Gradcheck, NamesAWrongSecondGradient) {
  auto wrong = [](const std::vector<Tensor>& in) {
    Tensor y = mul(in[0].detach(), in[0].detach());
    record_function("once", {in[0]}, {&y}, [x = in[0].detach()](const auto& gradients) {
      return std::vector{mul(gradients[0], mul(x, 2.0))};
    });
    return std::vector{mul(y, in[0])};
  };
  EXPECT_NE(gradcheck(wrong, {cube_leaf()}).find("the second gradient"), std::string::npos);
}

}  // namespace
}  // namespace simmesh
