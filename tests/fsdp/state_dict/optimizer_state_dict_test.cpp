#include "fsdp/state_dict/optimizer_state_dict.h"

#include <gmock/gmock.h>
#include <memory>

#include "core/autograd/backward.h"
#include "core/check/error.h"
#include "core/ops/reductions/reductions.h"
#include "core/optim/adam.h"
#include "fsdp/state_dict/state_dict.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

void step_with(nn::Module& model, optim::Optimizer& optimizer, std::uint64_t seed) {
  backward(sum(model(formula({2, 5}, {.rule = Rule::unit, .seed = seed}))));
  optimizer.step();
  optimizer.zero_grad();
}

// A model that is sharded, with an optimiser of its shards.
struct ShardedRun {
  ShardedRun(const FullyShardOptions& options, double learning_rate) {
    shard_layers(*model, options);
    optimizer = std::make_unique<optim::AdamW>(model->parameters(),
                                               optim::AdamOptions{.lr = learning_rate});
  }
  nn::ModulePtr model = build_model(small_model(2, 5));
  std::unique_ptr<optim::Optimizer> optimizer;
};

// Trained two steps, on the mesh.
ShardedRun trained_run(const DeviceMesh& mesh) {
  ShardedRun run({.mesh = mesh}, 0.25);
  for (std::uint64_t seed : {3, 4}) step_with(*run.model, *run.optimizer, seed);
  return run;
}

// Before its first step: cut over all ranks, with another rate.
ShardedRun new_run() { return ShardedRun({.reshard_after_forward = false}, 0.5); }

// The way of a state dict from one run to another.
struct Passage {
  GetOptimizerStateOptions get;
  bool flattens = false;
  SetOptimizerStateOptions set = {};
};

OptimizerStateDict passed(const ShardedRun& from, const Passage& passage) {
  OptimizerStateDict state = get_optimizer_state_dict(*from.model, *from.optimizer, passage.get);
  return passage.flattens ? unflattened(flattened(state)) : state;
}

// Whatever its form, a run that continues from it has the bits of the one that never stopped. The
// shards differ, so sums must not depend on how they are cut.
SIMMESH_TEST(OptimizerStateDict, LetsAnotherCutGoOn,
             {.mesh = {2, 2},
              .names = {"replicate", "shard"},
              .schedules = 4,
              .arithmetic = Arithmetic::exact()}) {
  ShardedRun from = trained_run(mesh);
  std::vector<ShardedRun> runs;
  const Passage passages[] = {
      {},
      {.flattens = true},
      {.get = {.full_state_dict = true}},
      {.get = {.full_state_dict = true}, .flattens = true},
      {.get = {.cpu_offload = true}},
      {.get = {.full_state_dict = true, .cpu_offload = true},
       .set = {.broadcast_from_rank0 = true}},
  };
  for (const Passage& passage : passages) {
    ShardedRun& run = runs.emplace_back(new_run());
    load_state_dict(*run.model, state_dict(*from.model));
    set_optimizer_state_dict(*run.model, *run.optimizer, passed(from, passage), passage.set);
    step_with(*run.model, *run.optimizer, 5);
  }
  step_with(*from.model, *from.optimizer, 5);
  nn::StateDict expected = full_state_dict(*from.model);
  for (const ShardedRun& run : runs) {
    nn::StateDict actual = full_state_dict(*run.model);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_SAME_BITS(actual[i].second, expected[i].second);
    expect(run.optimizer->steps(0) == 3, "three steps in all");
    expect(run.optimizer->learning_rates()[0] == 0.25, "the rate of the first run");
  }
}

// Sharded tensors alias the optimiser's state, and cost nothing; whole ones on the host are on rank
// 0 alone, and the ledger doesn't count them.
SIMMESH_TEST(OptimizerStateDict, LiesWhereItIsAskedTo,
             {.mesh = {2, 2}, .names = {"replicate", "shard"}}) {
  ShardedRun from = trained_run(mesh);
  std::int64_t before = this_rank().ledger().total().current;
  OptimizerStateDict sharded = get_optimizer_state_dict(*from.model, *from.optimizer);
  Tensor kept = from.optimizer->state(0).at("exp_avg");
  Tensor shown = sharded.entries[0].tensors.at("exp_avg");
  expect(shown.local_part().storage() == kept.storage(), "an alias of the optimiser's tensor");
  expect(shown.shape() == from.model->parameters()[0].shape(), "the shape of the parameter");
  OptimizerStateDict on_host = get_optimizer_state_dict(
      *from.model, *from.optimizer, {.full_state_dict = true, .cpu_offload = true});
  expect(this_rank().ledger().total().current == before, "nothing on the device");
  std::size_t parameters = from.model->parameters().size();
  expect(on_host.entries.size() == (this_rank().id() == 0 ? parameters : 0), "rank 0 alone");
}

// Parameters that have had no gradient have no state, and get none.
SIMMESH_TEST(OptimizerStateDict, KeepsNoStateBeforeTheFirstStep, {.mesh = {2}}) {
  ShardedRun from = new_run(), to = new_run();
  OptimizerStateDict state = get_optimizer_state_dict(*from.model, *from.optimizer);
  step_with(*to.model, *to.optimizer, 3);
  set_optimizer_state_dict(*to.model, *to.optimizer, unflattened(flattened(state)));
  expect(to.optimizer->state(0).empty() && to.optimizer->steps(0) == 0, "no state");
}

std::string failure_of_set(const std::function<void(OptimizerStateDict&)>& change) {
  return failure_of(2, [change](Rank&) {
    ShardedRun run = new_run();
    OptimizerStateDict state = get_optimizer_state_dict(*run.model, *run.optimizer);
    change(state);
    set_optimizer_state_dict(*run.model, *run.optimizer, state);
  });
}

TEST(OptimizerStateDict, RefusesWhatDoesNotFit) {
  using ::testing::HasSubstr;
  EXPECT_EQ(failure_of_set([](OptimizerStateDict&) {}), "");
  EXPECT_THAT(failure_of_set([](OptimizerStateDict& state) { state.entries.pop_back(); }),
              HasSubstr("expected the state of out.bias, which the optimiser has"));
  EXPECT_THAT(failure_of_set(
                  [](OptimizerStateDict& state) { state.entries[0].parameter = "other.weight"; }),
              HasSubstr("expected parameters of the model, got other.weight"));
  EXPECT_THAT(
      failure_of_set([](OptimizerStateDict& state) { state.entries[1].learning_rate = 0.75; }),
      HasSubstr("expected one learning rate in each group of the optimiser, got 0.5 and, for "
                "in.bias, 0.75"));
  EXPECT_THROW(unflattened({{"state.exp_avg", Tensor()}}), Error);
}

}  // namespace
}  // namespace simmesh::fsdp
