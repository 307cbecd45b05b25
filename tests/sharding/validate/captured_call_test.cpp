#include "sharding/validate/captured_call.h"

#include <gtest/gtest.h>

#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"

namespace simmesh {
namespace {

// If an op or its arguments were missed, a rule would be judged on another call.
TEST(Capture, SeesOpsArgumentsAndWhichTensorsTheyGot) {
  std::vector<Tensor> inputs = {tensor_of<double>({2}, {1, 2}), tensor_of<double>({2}, {3, 4})};
  Capture seen = capture(
      inputs, [](gsl::span<const Tensor> in) { return std::vector{sum(add(in[1], in[0], 2))}; });
  ASSERT_EQ(seen.calls.size(), 2u);
  EXPECT_EQ(seen.calls[0].op->name, "add");
  EXPECT_EQ(seen.calls[0].of_function, (std::vector<std::optional<std::size_t>>{1, 0}));
  EXPECT_EQ(seen.calls[1].op->name, "sum");
  EXPECT_EQ(seen.calls[1].of_function, (std::vector<std::optional<std::size_t>>{std::nullopt}));
  EXPECT_TRUE(same_bits(seen.outputs[0], tensor_of<double>({}, {13})));
}

// If a call in place changed the tensors that were given, later trials would compute with others.
TEST(Capture, WorksInPlaceOnCopies) {
  std::vector<Tensor> inputs = {tensor_of<double>({2}, {1, 2})};
  Capture seen = capture(inputs, [](gsl::span<const Tensor> in) {
    Tensor self = in[0];
    return std::vector{mul_(self, 3)};
  });
  ASSERT_EQ(seen.calls.size(), 1u);
  EXPECT_TRUE(same_bits(seen.calls[0].inputs[0], inputs[0]));
  EXPECT_TRUE(same_bits(seen.outputs[0], tensor_of<double>({2}, {3, 6})));
  EXPECT_TRUE(same_bits(inputs[0], tensor_of<double>({2}, {1, 2})));
}

TEST(Capture, ViewsAreOpsToo) {
  std::vector<Tensor> inputs = {tensor_of<double>({2, 1}, {1, 2})};
  Capture seen =
      capture(inputs, [](gsl::span<const Tensor> in) { return std::vector{in[0].squeeze(1)}; });
  ASSERT_EQ(seen.calls.size(), 1u);
  EXPECT_EQ(seen.calls[0].op->name, "squeeze");
}

}  // namespace
}  // namespace simmesh
