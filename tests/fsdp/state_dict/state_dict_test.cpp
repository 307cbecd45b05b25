#include "fsdp/state_dict/state_dict.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/reductions/reductions.h"
#include "core/optim/sgd.h"
#include "fsdp/named_params.h"
#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

void step(nn::Module& model, optim::Optimizer& optimizer) {
  backward(sum(model(formula({2, 5}, {.rule = Rule::unit, .seed = 3}))));
  optimizer.step();
  optimizer.zero_grad();
}

// A cached state dict shows every later step, on ranks with padding too: PyTorch padded again at
// the first forward and then saved stale weights.
TEST(StateDict, StaysAliasedOverSteps) {
  for (std::size_t ranks : {1, 2, 3, 4}) {
    every_schedule(ranks, [](Rank&) {
      nn::ModulePtr model = build_model(small_model(2, 5));
      shard_layers(*model);
      nn::StateDict cached = state_dict(*model);
      optim::Sgd optimizer(model->parameters(), optim::SgdOptions{.lr = 0.5});
      for (int i = 0; i < 3; ++i) step(*model, optimizer);
      nn::StateDict now = state_dict(*model);
      for (std::size_t i = 0; i < now.size(); ++i)
        expect(now[i].second.local_part().storage() == cached[i].second.local_part().storage(),
               "the storage of " + now[i].first);
    });
  }
}

// Reading shards again changes and allocates nothing where nothing was replaced.
SIMMESH_TEST(StateDict, ResetsWithoutAllocation, {.mesh = {4}}) {
  nn::ModulePtr model = build_model(small_model(2, 5));
  shard_layers(*model);
  std::uint64_t before = this_rank().ledger().allocations();
  for (int i = 0; i < 3; ++i)
    for (const NamedParam& named : named_params(*model)) named.param->reset_sharded_param();
  expect(this_rank().ledger().allocations() == before, "no allocation");
}

// Full state dicts are equal on all ranks, and loading one into a model that is cut otherwise gives
// the same model.
SIMMESH_TEST(StateDict, GoesFromOneCutToAnother,
             {.mesh = {2, 2}, .names = {"replicate", "shard"}}) {
  nn::ModulePtr from = build_model(small_model(2, 5));
  shard_layers(*from);
  nn::StateDict full = full_state_dict(*from);
  TrainingModel other = small_model(2, 5);
  for (ParameterData& data : other.parameters) data.data.seed += 1000;
  nn::ModulePtr to = build_model(other);
  fully_shard(*to, {.mesh = mesh});
  load_state_dict(*to, full);
  nn::StateDict again = full_state_dict(*to);
  for (std::size_t i = 0; i < full.size(); ++i) EXPECT_SAME_BITS(again[i].second, full[i].second);
}

// Only rank 0 has values: the others get theirs, and never hold more than one whole tensor.
SIMMESH_TEST(StateDict, IsBroadcastFromRankZero, {.mesh = {4}}) {
  nn::ModulePtr from = build_model(small_model(2, 5));
  TrainingModel other = small_model(2, 5);
  for (ParameterData& data : other.parameters) data.data.seed += 1000;
  nn::ModulePtr to = build_model(other);
  shard_layers(*to);
  nn::StateDict whole = from->state_dict(), none;
  for (bool assign : {false, true}) {
    load_state_dict(*to, this_rank().id() == 0 ? whole : none,
                    {.assign = assign, .broadcast_from_rank0 = true});
    nn::StateDict loaded = full_state_dict(*to);
    for (std::size_t i = 0; i < whole.size(); ++i)
      EXPECT_SAME_BITS(loaded[i].second, whole[i].second.detach());
  }
}

// All ranks judge rank 0's state dict alike, so that none waits for the others.
TEST(StateDict, RefusesWhatRankZeroHasOnAllRanks) {
  auto body = [](const std::function<void(nn::StateDict&, nn::Module&)>& change) {
    return [change](Rank& rank) {
      nn::ModulePtr model = build_model(small_model(1, 5));
      shard_layers(*model);
      nn::StateDict state;
      if (rank.id() == 0) {
        state = build_model(small_model(1, 5))->state_dict();
        change(state, *model);
      }
      bool refused = false;
      try {
        load_state_dict(*model, state, {.broadcast_from_rank0 = true});
      } catch (const Error&) {
        refused = true;
      }
      expect(refused, "an error on every rank");
    };
  };
  EXPECT_EQ(failure_of(2, body([](nn::StateDict& state, nn::Module&) { state.pop_back(); })), "");
  EXPECT_EQ(failure_of(2, body([](nn::StateDict& state, nn::Module&) {
                         state.emplace_back("other", zeros({2}, DType::float32));
                       })),
            "");
  EXPECT_EQ(failure_of(2, body([](nn::StateDict& state, nn::Module&) {
                         state[0].second = zeros({7}, DType::float32);
                       })),
            "");
  EXPECT_EQ(failure_of(2, body([](nn::StateDict& state, nn::Module& model) {
                         state[0].second = model.parameters()[0];
                       })),
            "");
}

// Assigned tensors are new parameters, frozen ones too: an optimiser that holds the old ones
// doesn't know them.
SIMMESH_TEST(StateDict, AssignsNewParameters, {.mesh = {2}}) {
  nn::ModulePtr model = build_model(small_model(1, 5));
  Tensor frozen = model->find("in").parameter("bias");
  set_requires_grad(frozen, false);
  shard_layers(*model);
  std::vector<Tensor> before = model->parameters();
  load_state_dict(*model, state_dict(*model), {.assign = true});
  std::vector<Tensor> after = model->parameters();
  for (std::size_t i = 0; i < before.size(); ++i) {
    expect(after[i].tracking() != before[i].tracking(), "a new parameter");
    expect(after[i].requires_grad() == before[i].requires_grad(), "as frozen as before");
  }
}

std::vector<Tensor> gradients_around(bool saves) {
  nn::ModulePtr model = build_model(small_model(2, 5));
  nn::Module *first = &model->find("layers.0"), *second = &model->find("layers.1");
  fully_shard(*first, {.reshard_after_forward = 2});
  fully_shard(*second);
  fully_shard(*model);
  FSDPModule(*second).set_modules_to_forward_prefetch({first});
  Tensor y = (*model)(formula({2, 5}, {.rule = Rule::unit, .seed = 3}));
  if (saves) state_dict(*model);
  backward(sum(y));
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : model->parameters())
    gradients.push_back(grad_of(parameter).local_part());
  return gradients;
}

// A state dict that is taken while a gather from a smaller mesh is under way leaves backward as it
// is; PyTorch's fails there.
SIMMESH_TEST(StateDict, DropsAGatherFromASmallerMesh, {.mesh = {4}}) {
  std::vector<Tensor> plain = gradients_around(false), saved = gradients_around(true);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_SAME_BITS(saved[i], plain[i]);
}

// A dtype change after the first gather is followed by the next gather; PyTorch's fails there.
SIMMESH_TEST(StateDict, FollowsADtypeChangeAfterAGather, {.mesh = {2}}) {
  nn::ModulePtr model = build_model(small_model(1, 5));
  shard_layers(*model);
  optim::Sgd optimizer(model->parameters(), optim::SgdOptions{.lr = 0.5});
  step(*model, optimizer);
  to(*model, DType::float64);
  Tensor y = (*model)(formula({2, 5}, {.rule = Rule::unit, .seed = 3, .dtype = DType::float64}));
  expect(y.dtype() == DType::float64, "a result in the new dtype");
  backward(sum(y));
  for (const Tensor& parameter : model->parameters())
    expect(grad_of(parameter).dtype() == DType::float64, "a gradient in the new dtype");
}

}  // namespace
}  // namespace simmesh::fsdp
