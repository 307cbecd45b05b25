#include "fsdp/param_group/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/autograd/variable.h"
#include "fsdp/fully_shard.h"
#include "fsdp/param_group/param_group.h"
#include "fsdp/state/state.h"
#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

// Rank r has the gradient 2 * (r + 1) * (1, 2, ..., 6) of a weight of [3, 2].
Tensor own_gradient(std::int64_t rank) {
  Tensor gradient = tensor_of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  for (float& element : gradient.mutable_values<float>()) element *= float(2 * (rank + 1));
  return gradient;
}

// The gradient of this rank's shard after one reduction with the setting's options.
std::string reduced(const DeviceMesh& mesh, std::optional<double> divide_factor,
                    const AllReduceHook& hook = {}) {
  nn::ModulePtr model = nn::build(
      {"", "linear", {{"in", std::int64_t(2)}, {"out", std::int64_t(3)}, {"bias", false}}, {}});
  fully_shard(*model);
  FSDPState& state = *FSDPState::of(*model);
  FSDPParamGroup& group = *state.groups()[0];
  FSDPParam& weight = *group.params()[0];
  weight.init_dtypes({});
  CommStreams streams;
  PartialSums partial;
  ReduceScatter plain;
  std::vector<ParamGrad> gradients = {{&weight, own_gradient(mesh.get_rank())}};
  reduce_gradients(std::move(gradients),
                   {.group = group,
                    .state = state,
                    .site = CallSite::here(),
                    .mesh = group.mesh(),
                    .streams = streams,
                    .reduce_scatter = plain,
                    .hook = hook,
                    .divide_factor = divide_factor},
                   partial);
  EXPECT_TRUE(partial.is_empty());
  return to_string(DTensor::of(grad_of(weight.sharded_param())).local());
}

// If this fails, gradients are added where they should be averaged, or go to another rank's rows.
SIMMESH_TEST(ReduceGradients, AveragesAndGivesEachRankItsShard, {.mesh = {2}}) {
  bool is_first = mesh.get_rank() == 0;
  EXPECT_EQ(reduced(mesh, {}), is_first ? "float32[2, 2] {3, 6, 9, 12}" : "float32[1, 2] {15, 18}");
  EXPECT_EQ(reduced(mesh, 1.0),
            is_first ? "float32[2, 2] {6, 12, 18, 24}" : "float32[1, 2] {30, 36}");
}

// If this fails, a hook that reduces further sees another tensor than the one that becomes the
// gradient.
SIMMESH_TEST(ReduceGradients, AHookChangesWhatWasScattered, {.mesh = {2}}) {
  AllReduceHook halving{.call = [](Tensor& scattered) {
    for (float& element : scattered.mutable_values<float>()) element /= 2;
  }};
  EXPECT_EQ(reduced(mesh, 1.0, halving),
            mesh.get_rank() == 0 ? "float32[2, 2] {3, 6, 9, 12}" : "float32[1, 2] {15, 18}");
}

}  // namespace
}  // namespace simmesh::fsdp
