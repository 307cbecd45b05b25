#include "zero/stage3/init.h"

#include <optional>

#include "core/engine/ranks/rank_figures.h"
#include "core/ops/functions/default_generator.h"
#include "core/tensor/convert.h"
#include "tests/zero/zero_runs.h"
#include "zero/stage3/partitioned_param.h"
#include "zero/stage3/stage3.h"

namespace simmesh::zero {
namespace {

// Two layers of a few hundred elements.
nn::ModulePtr two_layers() {
  std::vector<nn::NamedModule> children;
  children.emplace_back("a", new_linear(16, 20));
  children.emplace_back("b", new_linear(20, 16));
  return std::make_shared<nn::Sequential>(children);
}

nn::ModulePtr constructed(const ProcessGroup& group, bool in_scope) {
  std::optional<Init> scope;
  if (in_scope) scope.emplace(group);
  return two_layers();
}

// If this fails, construction in the scope gives other values than partitioning afterwards.
SIMMESH_TEST(ZeroInit, EqualsPartitioningAfterwards, {.mesh = {3}, .schedules = 4}) {
  ProcessGroup world = ProcessGroup::world();
  std::vector<Tensor> of_ways[2];
  for (bool in_scope : {false, true}) {
    default_generator() = Generator{.seed = 5};
    nn::ModulePtr model = constructed(world, in_scope);
    Engine engine = initialize(*model, make_adamw, small_stage3(), world);
    Tensor output = engine(rank_input(mesh.get_rank(), 0, {2, 16}));
    engine.backward(sum(output));
    engine.step();
    of_ways[in_scope].push_back(output.detach());
    for (const auto& [name, parameter] : model->named_parameters())
      of_ways[in_scope].push_back(engine.safe_get_full_fp32_param(name));
  }
  for (std::size_t i = 0; i < of_ways[0].size(); ++i)
    EXPECT_SAME_BITS(of_ways[1][i], of_ways[0][i]);
}

// If this fails, a rank has more of the model than its shards and the memory for drawing one layer.
SIMMESH_TEST(ZeroInit, NeverHoldsTheModel, {.mesh = {4}, .schedules = 4}) {
  std::int64_t before = this_rank().ledger().total().peak;
  std::vector<nn::ModulePtr> models;
  for (int i = 0; i < 20; ++i) models.push_back(constructed(ProcessGroup::world(), true));
  std::int64_t shards = 20 * 4 * (80 + 5 + 80 + 4);
  EXPECT_EQ(this_rank().ledger().total().current, shards);
  EXPECT_LT(this_rank().ledger().total().peak - before, 2 * shards);
}

// A dtype converts the registered parameters, and values are those of the group's first rank.
SIMMESH_TEST(ZeroInit, ConvertsAndTakesTheFirstRanksValues, {.mesh = {2}, .schedules = 4}) {
  ProcessGroup world = ProcessGroup::world();
  std::optional<Init> scope;
  scope.emplace(world, Init::Options{.dtype = DType::bfloat16});
  default_generator() = Generator{.seed = std::uint64_t(mesh.get_rank())};
  nn::ModulePtr model = new_linear(3, 5);
  scope.reset();
  default_generator() = Generator{.seed = 0};
  nn::ModulePtr first = new_linear(3, 5);
  Engine engine = initialize(*model, make_adamw, small_stage3(), world);
  GatheredParameters whole(*model);
  EXPECT_SAME_BITS(model->parameter("weight").detach(),
                   converted(first->parameter("weight").detach(), DType::bfloat16));
}

struct SeenRun {
  Outcome outcome;
  RankFigures figures;
  std::vector<std::string> events;
};

SeenRun seen(const Config& config, WorldOptions options) {
  SeenRun run;
  options.ranks = 4;
  run.outcome = World(options).run([&](Rank& rank) {
    {
      ObserverScope observer([&](const Event& event) {
        if (rank.id() == 0) run.events.push_back(to_string(event));
      });
      nn::ModulePtr model = constructed(ProcessGroup::world(), true);
      Engine engine = initialize(*model, make_adamw, config, ProcessGroup::world());
      for (int step = 0; step < 3; ++step) {
        engine.backward(sum(engine(zeros({2, 16}, DType::float32))));
        engine.step();
      }
    }
    if (rank.id() == 0) run.figures = RankFigures::of(rank);
  });
  return run;
}

// A world of shapes only does the same as the world with data, and costs each rank the same;
// folded, two ranks stand for all.
TEST(Stage3, ShapesOnlyHasTheFiguresOfTheWorldWithData) {
  std::vector<Config> configs(5, small_stage3());
  configs[1].zero_optimization.allgather_sequential = true;
  configs[2].zero_optimization.use_all_reduce_for_fetch_params = true;
  configs[3].zero_optimization.zero_hpz_partition_size = 2;
  configs[4].zero_optimization.param_persistence_threshold = 100;
  for (Config& config : configs) {
    config.zero_optimization.prefetch_bucket_size = 330;
    config.zero_optimization.max_live_parameters = 1000;
    SeenRun data = seen(config, {}), shapes = seen(config, {.shapes_only = true});
    SeenRun folded = seen(config, {.shapes_only = true, .fold = true});
    for (const SeenRun* run : {&data, &shapes, &folded}) {
      ASSERT_TRUE(run->outcome.ok()) << report(run->outcome);
      EXPECT_EQ(difference(run->figures, data.figures), "");
      EXPECT_EQ(run->events, data.events);
    }
  }
}

}  // namespace
}  // namespace simmesh::zero
