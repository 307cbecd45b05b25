#include "zero/engine/norm.h"

#include <gtest/gtest.h>
#include <limits>

#include "testing/gtest.h"

namespace simmesh::zero {
namespace {

// If this fails, one rank skips a step that the others make.
SIMMESH_TEST(ZeroNorm, AnyRanksOverflowIsEveryRanks, {.mesh = {3}}) {
  ProcessGroup all = ProcessGroup::world();
  Tensor finite = tensor_of<float>({2}, {1, 2});
  Tensor own = finite.clone();
  EXPECT_TRUE(are_all_finite({&own, 1}, all));
  if (mesh.get_rank() == 1) own.mutable_values<float>()[1] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(are_all_finite({&own, 1}, all));
}

// If this fails, gradients are clipped by the norm of one rank's part.
SIMMESH_TEST(ZeroNorm, IsThatOfAllRanksElements, {.mesh = {2}}) {
  ProcessGroup all = ProcessGroup::world();
  bool is_first = mesh.get_rank() == 0;
  std::vector<Tensor> own = {tensor_of<float>({1}, {is_first ? 1.0f : 4.0f}),
                             tensor_of<float>({1}, {is_first ? 2.0f : 2.0f})};
  EXPECT_EQ(to_string(sharded_norm(own, all)), "float32[] {5}");
}

TEST(ZeroNorm, TheFactorBringsANormDownToItsBound) {
  EXPECT_EQ(clip_factor(tensor_of<float>({}, {0.5f}), 1.0).values<float>()[0], 1);
  EXPECT_FLOAT_EQ(clip_factor(tensor_of<float>({}, {4}), 1.0).values<float>()[0],
                  float(1.0 / (4 + 1e-6)));
}

}  // namespace
}  // namespace simmesh::zero
