#include "sharding/paddle/spmd/aligned_inputs.h"

#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::tensor;

std::string aligned(const Dims& mesh_shape, std::vector<SpmdTensor> tensors) {
  SpmdCall call{.op = "stack", .mesh_shape = mesh_shape, .inputs = {std::move(tensors)}};
  return to_string(aligned_inputs(call, {true, true}).front());
}

// The dim of a cut that one tensor has already costs least.
TEST(AlignedInputs, TakesTheCheapestDim) {
  EXPECT_EQ(aligned({2}, {tensor({4, 8}, {{}, {}}), tensor({4, 8}, {{}, {0}})}), "[[],[0]]");
  EXPECT_EQ(aligned({2}, {tensor({4, 8}, {{0}, {}}), tensor({4, 8}, {{}, {0}})}), "[[0],[]]");
}

// A mesh dim on which all agree stays, partial sums too.
TEST(AlignedInputs, KeepsWhatAllAgreeOn) {
  EXPECT_EQ(aligned({2}, {tensor({4, 8}, {{}, {0}}), tensor({4, 8}, {{}, {0}})}), "[[],[0]]");
  EXPECT_EQ(aligned({2}, {tensor({4, 8}, {{}, {}}, {0}), tensor({4, 8}, {{}, {}}, {0})}),
            "[[],[]] partial {0: sum}");
}

TEST(AlignedInputs, PassesOverDimsThatAreTooSmall) {
  EXPECT_EQ(aligned({8}, {tensor({4, 8}, {{0}, {}}), tensor({4, 8}, {{}, {}})}), "[[],[0]]");
}

TEST(AlignedInputs, EmptyTensorsHaveNoSay) {
  SpmdCall call{.op = "concat",
                .mesh_shape = {2},
                .inputs = {std::vector<SpmdTensor>{tensor({0}, {{}}), tensor({4, 8}, {{0}, {}})}}};
  EXPECT_EQ(first_nonempty(call), 1u);
  EXPECT_EQ(to_string(aligned_inputs(call, {true, true}).back()), "[[0],[]]");
}

}  // namespace
}  // namespace simmesh::paddle
