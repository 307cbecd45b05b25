#include "core/optim/element_update.h"

#include <gtest/gtest.h>

#include "core/optim/radam.h"
#include "core/tensor/convert.h"
#include "tests/expect_error.h"

namespace simmesh::optim {
namespace {

using simmesh::testing::expect_error;

// If this fails, an optimizer pairs a parameter's elements with other elements of its state, or
// rounds 16-bit ones in between.
TEST(ElementUpdate, VisitsElementsOfAllTensorsTogether) {
  Tensor parameter = converted(tensor_of<float>({2}, {256, 2}), DType::bfloat16);
  Tensor momentum = converted(tensor_of<float>({2}, {1, 4}), DType::bfloat16);
  std::array<Tensor*, 2> tensors = {&parameter, &momentum};
  update_elements(tensors, [](auto& values) {
    auto& [p, m] = values;
    m *= 0.5f;
    p += m;  // 256.5, which bfloat16 doesn't have
    p -= 0.5f;
  });
  EXPECT_EQ(to_string(parameter), "bfloat16[2] {256, 3.5}");
  EXPECT_EQ(to_string(momentum), "bfloat16[2] {0.5, 2}");
}

TEST(ElementUpdate, RefusesTensorsThatDontGoTogether) {
  Tensor x = tensor_of<float>({2}, {1, 2}), longer = tensor_of<float>({3}, {1, 2, 3}),
         whole = tensor_of<std::int64_t>({2}, {1, 2});
  auto nothing = [](auto&) {};
  expect_error(
      [&] {
        update_elements(std::array<Tensor*, 2>{&x, &longer}, nothing);
      },
      ErrorKind::value_error, "expected float32[2], got float32[3]");
  expect_error(
      [&] {
        update_elements(std::array<Tensor*, 2>{&x, &whole}, nothing);
      },
      ErrorKind::value_error, "got int64[2]");
  expect_error([&] { update_elements(std::array<Tensor*, 1>{&whole}, nothing); },
               ErrorKind::type_error, "a floating dtype, got int64");
}

// If this fails, a step decays the parameter and the gradient, or neither.
TEST(DecayFactors, DecayTheGradientOrTheParameter) {
  RAdamOptions options{.lr = 0.5, .weight_decay = 0.25, .maximize = true};
  DecayFactors added = DecayFactors::of(options, false);
  EXPECT_EQ(added.sign, -1.0);
  EXPECT_EQ(added.kept, 1.0);
  EXPECT_EQ(added.added, 0.25);
  options.maximize = false;
  DecayFactors decoupled = DecayFactors::of(options, true);
  EXPECT_EQ(decoupled.sign, 1.0);
  EXPECT_EQ(decoupled.kept, 1.0 - 0.5 * 0.25);
  EXPECT_EQ(decoupled.added, 0.0);
}

}  // namespace
}  // namespace simmesh::optim
