#include <gtest/gtest.h>

#include "core/engine/schedules/random_stream.h"
#include "core/nn/activation.h"
#include "tests/zero/zero_runs.h"
#include "zero/stage3/stage3.h"

// Random models on the real engine: in exact arithmetic stage 3 has the bits of stage 0, whatever
// the model, the settings, the number of ranks and the schedule.
namespace simmesh::zero {
namespace {

constexpr std::int64_t width = 3;

nn::ModulePtr drawn_module(RandomStream& random, int depth) {
  std::uint64_t kind = random.below(depth > 0 ? 6 : 2);
  if (kind == 0) return std::make_shared<nn::Activation>(nn::ActivationKind::relu);
  if (kind <= 2) {
    nn::ModulePtr linear = new_linear(width, width, random.below(2) == 0);
    if (random.below(6) == 0) linear->set_requires_grad(false);
    return linear;
  }
  std::vector<nn::NamedModule> children;
  std::vector<std::string> calls;
  for (std::uint64_t i = 0, count = 1 + random.below(3); i < count; ++i) {
    children.emplace_back("c" + std::to_string(i), drawn_module(random, depth - 1));
    for (std::uint64_t times = 1 + (random.below(4) == 0); times-- > 0;)
      calls.push_back(children.back().first);
  }
  nn::ModulePtr made;
  if (kind == 3)
    made = std::make_shared<nn::Sequential>(children, calls);
  else if (kind == 4)
    made = std::make_shared<nn::Residual>(children, calls);
  else
    made = std::make_shared<nn::Add>(children);
  if (random.below(4) == 0)
    made->set_checkpointing(
        CheckpointOptions{.reentrant = random.below(2) == 0, .early_stop = random.below(2) == 0});
  return made;
}

nn::ModulePtr drawn_root(std::uint64_t seed) {
  RandomStream random(seed, 1);
  std::vector<nn::NamedModule> children = {{"in", new_linear(3, width)},
                                           {"body", drawn_module(random, 3)},
                                           {"out", new_linear(width, 2)}};
  return std::make_shared<nn::Sequential>(children);
}

Config drawn_config(RandomStream& random) {
  constexpr std::int64_t sizes[] = {0, 1, 5, 12, 40, 1'000'000};
  auto size = [&] { return sizes[random.below(6)]; };
  Config config = small_stage3();
  ZeroOptimization& zero = config.zero_optimization;
  zero.prefetch_bucket_size = size();
  zero.max_live_parameters = size();
  zero.max_reuse_distance = size();
  zero.param_persistence_threshold = size();
  zero.model_persistence_threshold = size();
  zero.reduce_bucket_size = 1 + size();
  zero.sub_group_size = 1 + size();
  zero.reduce_scatter = random.below(2) == 0;
  zero.allgather_sequential = random.below(3) == 0;
  zero.use_all_reduce_for_fetch_params = random.below(3) == 0;
  zero.zero_hpz_partition_size = 1 + std::int64_t(random.below(3));
  if (random.below(3) == 0) zero.leaf_module.names = {"body"};
  config.gradient_accumulation_steps = 1 + std::int64_t(random.below(3));
  return config;
}

TEST(Stage3Swarm, EqualsStage0OnRandomModels) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomStream random(seed, 0);
    Config config = drawn_config(random), whole = stage0();
    whole.gradient_accumulation_steps = config.gradient_accumulation_steps;
    std::size_t ranks = 1 + random.below(4);
    Schedule schedule = random.below(2) == 0 ? Schedule::seeded(seed) : Schedule::parse("pct:3");
    World world({.ranks = ranks, .schedule = schedule, .arithmetic = exact});
    Outcome outcome = world.run([&](Rank&) {
      auto make = [seed] { return drawn_root(seed); };
      expect_same_run(run_zero(make, config), run_zero(make, whole));
    });
    ASSERT_TRUE(outcome.ok()) << "seed " << seed << ": " << report(outcome);
    ASSERT_EQ(outcome.live_storages, 0) << "seed " << seed;
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace simmesh::zero
