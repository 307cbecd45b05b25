#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/reductions/reductions.h"
#include "fsdp/named_params.h"
#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

using simmesh::testing::error_text;

Tensor input(std::int64_t width) { return formula({2, width}, {.rule = Rule::unit, .seed = 3}); }

// Over a smaller mesh the registered DTensor is the parameter, also where padded rows and its own
// rows are other bytes, and for shards of dim 1.
TEST(FSDPParam, ShowsTheRowsOfASmallerMesh) {
  for (std::int64_t shard_dim : {0, 1}) {
    every_schedule(4, [shard_dim](Rank& rank) {
      std::int64_t width = shard_dim == 0 ? 5 : 4;
      TrainingModel plan = small_model(1, width);
      nn::ModulePtr model = build_model(plan), whole = build_model(plan);
      FullyShardOptions options{.reshard_after_forward = 2};
      options.shard_placement_fn = [=](const Tensor& parameter) {
        bool fits = shard_dim < parameter.dim() && parameter.size(shard_dim) % 4 == 0;
        return ShardPlacementResult{.placement = Shard(fits ? shard_dim : 0)};
      };
      fully_shard(*model, options);
      Tensor y = (*model)(input(width));
      rank.expect_same_bits(y.detach(), (*whole)(input(width)).detach());
      std::vector<Tensor> expected = whole->parameters(), shown = model->parameters();
      for (std::size_t i = 0; i < shown.size(); ++i)
        rank.expect_same_bits(DTensor::of(shown[i].detach()).full_tensor(), expected[i].detach());
      backward(sum(y));
    });
  }
}

// A micro-batch without sync leaves gradients in the reduce dtype; the next one, which reduces,
// uses more of the group.
SIMMESH_TEST(FSDPParam, ReducesAccumulatedAndFreshGradients, {.mesh = {2}}) {
  nn::ModelNode node{"", "fan", {}, {}};
  for (const char* name : {"p", "q"})
    node.children.push_back(
        {name, "linear", {{"in", std::int64_t(4)}, {"out", std::int64_t(4)}}, {}});
  nn::ModulePtr model = nn::build(node);
  fully_shard(*model,
              {.mp_policy = {.param_dtype = DType::bfloat16, .reduce_dtype = DType::float32}});
  FSDPModule root(*model);
  root.set_requires_gradient_sync(false);
  backward(sum(model->call({input(4)})[0]));
  root.set_requires_gradient_sync(true);
  nn::Tensors outputs = model->call({input(4)});
  backward(std::vector<Tensor>{sum(outputs[0]), sum(outputs[1])});
  for (const Tensor& parameter : model->parameters())
    expect(grad_of(parameter).is_defined() && grad_of(parameter).dtype() == DType::float32,
           "a gradient of the parameter's dtype");
}

// A gathered parameter can't be used without its bytes: the error comes from what the tape saved of
// it.
SIMMESH_TEST(FSDPParam, RefusesUseOfAFreedParameter, {.mesh = {2}}) {
  nn::ModulePtr model = build_model(small_model(1, 4));
  shard_layers(*model, {.reshard_after_forward = true});
  FSDPModule(model->find("layers.0")).set_unshard_in_backward(false);
  Tensor loss = sum((*model)(input(4)));
  expect(error_text([&] { backward(loss); }).find("storage") != std::string::npos,
         "an error that names the freed storage");
}

// Offloaded shards are not on the device.
SIMMESH_TEST(FSDPParam, ChargesNoOffloadedShards, {.mesh = {2}}) {
  std::int64_t before = this_rank().ledger().total().current;
  nn::ModulePtr model = build_model(small_model(1, 4));
  fully_shard(*model, {.offload_policy = CPUOffloadPolicy{}});
  expect(this_rank().ledger().total().current == before, "nothing on the device");
}

}  // namespace
}  // namespace simmesh::fsdp
