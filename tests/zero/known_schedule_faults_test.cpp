#include <gmock/gmock.h>
#include <set>

#include "core/autograd/variable.h"
#include "core/nn/activation.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "tests/zero/simulated_sink.h"
#include "tests/zero/zero_runs.h"
#include "zero/stage3/param_gather.h"
#include "zero/stage3/stage3.h"

// Faults of what DeepSpeed's stage 3 fetches and releases, and when. The names have the numbers of
// its issues.
namespace simmesh::zero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Stage 3 without prefetching and without keeping anything.
Config bare_stage3() {
  Config config = small_stage3();
  config.zero_optimization.prefetch_bucket_size = 0;
  config.zero_optimization.max_reuse_distance = 0;
  return config;
}

// Two layers that see the same input, and two outputs.
struct TwoOutputs final : nn::Module {
  TwoOutputs() {
    for (const char* name : {"a", "b"}) register_child(name, new_linear(3, 4));
  }
  nn::Tensors forward(const nn::Tensors& in) override {
    return {child("a")(in[0]), child("b")(in[0])};
  }
};

struct AddsTwo final : nn::Module {
  AddsTwo() {
    register_child("first", new_linear(3, 3));
    register_child("two", std::make_shared<TwoOutputs>());
  }
  nn::Tensors forward(const nn::Tensors& in) override {
    nn::Tensors parts = child("two").call({child("first")(in[0])});
    return {add(parts[0], mul(parts[1], 2.0))};
  }
};

// Runs training steps and returns the events of the last.
std::vector<Event> events_of(nn::Module& model, const Config& config, int steps = 3) {
  ProcessGroup world = ProcessGroup::world();
  Engine engine = initialize(model, make_adamw, config, world);
  std::vector<Event> events;
  for (int step = 0; step < steps; ++step) {
    events.clear();
    ObserverScope observer([&](const Event& event) { events.push_back(event); });
    engine.backward(sum(engine(rank_input(world.rank(), step, {2, 3}))));
    engine.step();
  }
  return events;
}

// #7824, #7825: the gradients of two outputs of a leaf module came at once, and both fetched it.
SIMMESH_TEST(KnownScheduleFaults, ALeafIsFetchedOnceForAllItsOutputs7824,
             {.mesh = {2}, .schedules = 8, .arithmetic = exact}) {
  Config config = bare_stage3();
  config.zero_optimization.leaf_module.names = {"two"};
  auto make = [] { return std::make_shared<AddsTwo>(); };
  expect_same_run(run_zero(make, config), run_zero(make, stage0()));
  auto model = make();
  bool is_backward = false;
  std::int64_t fetches = 0;
  for (const Event& event : events_of(*model, config)) {
    if (event.kind == EventKind::enter) is_backward = event.pass == Pass::backward;
    if (event.kind == EventKind::fetch && is_backward)
      fetches += std::count(event.params.begin(), event.params.end(), 2);
  }
  EXPECT_EQ(fetches, 1) << "parameter 2 is the first of the leaf";
}

// #8193, #8431: a prefetch bucket that is too small stayed so, and where it adapted, ranks that
// decided by their own clocks gathered unlike buckets.
SIMMESH_TEST(KnownScheduleFaults, ThePrefetchBucketAdaptsAlikeOnAllRanks8193And8431,
             {.mesh = {3}, .schedules = 8, .arithmetic = exact}) {
  Config config = small_stage3(), adaptive = config;
  config.zero_optimization.prefetch_bucket_size = 1;
  adaptive.zero_optimization.prefetch_bucket_size = 1;
  adaptive.zero_optimization.adaptive_prefetch_bucket = true;
  expect_same_run(run_zero(three_linears, adaptive, 6), run_zero(three_linears, stage0(), 6));
  auto late_fetches = [](const Config& of) {
    nn::ModulePtr model = three_linears();
    std::int64_t late = 0;
    for (const Event& event : events_of(*model, of, 8)) late += event.kind == EventKind::fetch;
    return late;
  };
  std::int64_t before = late_fetches(config), after = late_fetches(adaptive);
  EXPECT_GT(before, 0);
  EXPECT_LT(after, before);
}

// A leaf module whose inputs need no gradient ended the first backward.
SIMMESH_TEST(KnownScheduleFaults, ALeafMayBeTheFirstModule,
             {.mesh = {2}, .schedules = 4, .arithmetic = exact}) {
  auto make = [] {
    auto block = std::make_shared<nn::Sequential>(
        std::vector<nn::NamedModule>{{"up", new_linear(3, 5)}, {"down", new_linear(5, 3)}});
    return std::make_shared<nn::Sequential>(
        std::vector<nn::NamedModule>{{"leaf", block}, {"last", new_linear(3, 2)}});
  };
  Config config = small_stage3();
  config.zero_optimization.leaf_module.names = {"leaf"};
  expect_same_run(run_zero(make, config), run_zero(make, stage0()));
}

// #8148, #4332: frozen parameters of a checkpointed part were released while its backward needed
// them, or were seen without elements.
SIMMESH_TEST(KnownScheduleFaults, FrozenParametersOfRecomputedParts8148And4332,
             {.mesh = {2}, .schedules = 4, .arithmetic = exact}) {
  for (const char* frozen : {"up", "down"})
    for (bool reentrant : {false, true}) {
      auto make = [=] {
        auto act = std::make_shared<nn::Activation>(nn::ActivationKind::relu);
        auto block = std::make_shared<nn::Sequential>(std::vector<nn::NamedModule>{
            {"up", new_linear(3, 5)}, {"act", act}, {"down", new_linear(5, 3)}});
        block->set_checkpointing(CheckpointOptions{.reentrant = reentrant});
        block->find(frozen).set_requires_grad(false);
        return std::make_shared<nn::Sequential>(std::vector<nn::NamedModule>{
            {"first", new_linear(3, 3)}, {"block", block}, {"last", new_linear(3, 2)}});
      };
      expect_same_run(run_zero(make, bare_stage3()), run_zero(make, stage0()));
      auto model = make();
      Engine engine = initialize(*model, make_adamw, bare_stage3(), ProcessGroup::world());
      for (int step = 0; step < 3; ++step) {
        engine.backward(sum(engine(rank_input(mesh.get_rank(), step, {2, 3}))));
        EXPECT_EQ(gathered_bytes(), 0) << "held beyond the end of backward";
      }
    }
}

// #3734, #7217, #6726: gathered parameters were freed several blocks late, so that the peak grew
// with the number of layers.
SIMMESH_TEST(KnownScheduleFaults, ThePeakIsThatOfOneLayer3734And7217,
             {.mesh = {2}, .schedules = 4}) {
  constexpr std::int64_t layer_bytes = 3 * 3 * 4, padded_bytes = 10 * 4;
  for (int layers : {2, 8}) {
    std::vector<nn::NamedModule> children;
    for (int i = 0; i < layers; ++i)
      children.emplace_back("l" + std::to_string(i), new_linear(3, 3, false));
    nn::Sequential model(children);
    Engine engine = initialize(model, make_adamw, bare_stage3(), ProcessGroup::world());
    std::int64_t peak = 0, after_leaving = 0;
    for (int step = 0; step < 3; ++step) {
      ObserverScope observer([&](const Event& event) {
        if (event.kind == EventKind::entered) peak = std::max(peak, gathered_bytes());
        if (event.kind == EventKind::left && event.pass == Pass::forward && event.module > 0)
          after_leaving = std::max(after_leaving, gathered_bytes());
      });
      NoGrad mode;
      engine(rank_input(mesh.get_rank(), step, {2, 3}));
    }
    EXPECT_GE(peak, layer_bytes);
    EXPECT_LE(peak, padded_bytes) << layers;
    EXPECT_EQ(after_leaving, 0) << layers;
  }
}

// A root and three layers of ten elements.
FetchGraph four_modules() {
  std::vector<FetchParam> params(3, {.numel = 10, .shard_numel = 5});
  return {params, {{{}, {0, 1, 2}}, {{0}, {0}}, {{1}, {1}}, {{2}, {2}}}};
}

// The releases of layer 1, in iterations that run the modules of an order one after another.
class Releases {
 public:
  explicit Releases(const DeepSpeedFaults& faults)
      : graph_(four_modules()),
        sink_(graph_),
        coordinator_(graph_,
                     {.prefetch_bucket_size = 0, .max_reuse_distance = 15, .faults = faults},
                     sink_) {}

  std::vector<std::string> run(const std::vector<ModuleId>& order) {
    sink_.log.clear();
    coordinator_.reset();
    for (ModuleId module : order) {
      coordinator_.enter(module, Pass::forward);
      coordinator_.leave(module, Pass::forward);
    }
    coordinator_.release_all();
    std::vector<std::string> gathers;
    for (const std::string& line : sink_.log)
      if (line.starts_with("gather")) gathers.push_back(line);
    return gathers;
  }

 private:
  FetchGraph graph_;
  SimulatedSink sink_;
  Coordinator coordinator_;
};

// The parameters that a module keeps were remembered for its place in the trace, and applied to
// another trace in which it has the same place: here they are not used again, and stayed.
TEST(KnownScheduleFaults, DecisionsOfAnOldTraceAreForgotten) {
  for (bool remembers : {false, true}) {
    Releases releases({.remembers_stale_releases = remembers});
    std::vector<ModuleId> once = {1, 2, 3, 1}, again = {1, 2, 1};
    releases.run(once);
    EXPECT_THAT(releases.run(once), ElementsAre("gather 0", "gather 1", "gather 2", "gather 0"));
    releases.run(again);  // another order: invalid
    releases.run(again);  // recorded
    std::vector<std::string> gathers = releases.run(again);
    if (remembers)
      EXPECT_THAT(gathers, ElementsAre("gather 0", "gather 1", "gather 0"));
    else
      EXPECT_THAT(gathers, ElementsAre("gather 0", "gather 1"));
  }
}

// Two users of one layer in a forward; only the last call's backward was noticed, so that the
// others were left at the end of the pass only.
SIMMESH_TEST(KnownScheduleFaults, EachCallOfAModuleIsLeftInBackward,
             {.mesh = {2}, .schedules = 4, .arithmetic = exact}) {
  nn::ModulePtr model = three_linears();
  set_by_formula(*model);
  std::vector<ModuleId> left;
  std::vector<std::size_t> leftovers;
  Pass pass = Pass::forward;
  for (const Event& event : events_of(*model, bare_stage3())) {
    if (event.kind == EventKind::leave) {
      pass = event.pass;
      if (pass == Pass::backward) left.push_back(event.module);
    }
    if (event.kind == EventKind::leftovers) leftovers.push_back(event.modules.size());
  }
  // Modules are numbered root, first, twice, last; the input of the first needs no gradient.
  EXPECT_EQ(std::count(left.begin(), left.end(), 2), 2) << "the middle layer ran twice";
  EXPECT_EQ(std::count(left.begin(), left.end(), 3), 1);
  EXPECT_FALSE(leftovers.empty());
}

// Parameters of several kinds were gathered in the order of a hash set, which may differ between
// ranks: here it is that of the names of the dtypes, those with a secondary shard first.
TEST(KnownScheduleFaults, GathersOfSeveralKindsHaveOneOrder) {
  std::set<std::vector<std::string>> orders;
  World world({.ranks = 4});
  std::vector<std::vector<std::string>> by_rank(4);
  Outcome outcome = world.run([&](Rank& rank) {
    std::vector<nn::NamedModule> children = {{"a", new_linear(3, 3)},
                                             {"b", new_linear(3, 3, true, DType::bfloat16)},
                                             {"c", new_linear(3, 3, false, DType::float16)}};
    nn::Sequential model(children);
    model.find("b").set_requires_grad(false);
    Config config = bare_stage3();
    config.zero_optimization.zero_hpz_partition_size = 2;
    config.zero_optimization.leaf_module.classes = {"Sequential"};
    MakeOptimizer make = make_adamw;
    Stage3 stage({model, make, config, ProcessGroup::world()});
    stage.params().drop_secondaries();
    ObserverScope observer([&](const Event& event) {
      if (event.kind == EventKind::collective && event.name == "all_gather_into_tensor")
        by_rank[rank.id()].push_back(fmt::format("{} {}", event.dtype, event.numel));
    });
    stage.coordinator().reset();
    stage.coordinator().enter(0, Pass::forward);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  for (const auto& order : by_rank) orders.insert(order);
  EXPECT_EQ(orders.size(), 1u);
  EXPECT_THAT(by_rank[0], ElementsAre("bfloat16 8", "float16 3", "float32 4"));
}

}  // namespace
}  // namespace simmesh::zero
