#include <gtest/gtest.h>
#include <set>

#include "core/engine/schedules/random_stream.h"
#include "tests/zero/simulated_sink.h"

// Properties of every coordinator, over random module graphs, settings and routes.
namespace simmesh::zero {
namespace {

// A call of a module in an iteration. Its inputs may need no gradient: then its backward is entered
// and never left.
struct Call {
  ModuleId module;
  std::vector<Call> below;
  bool is_left_backward = true;
  bool is_recomputed = false;  // forward again in backward
};

struct Model {
  FetchGraph graph;
  std::vector<std::vector<ModuleId>> children;
  std::int64_t largest_param = 0, largest_need = 0;
};

Model drawn_model(RandomStream& random) {
  std::size_t modules = 1 + random.below(9), params = 1 + random.below(12);
  std::vector<FetchParam> entries(params);
  for (FetchParam& param : entries) {
    param.numel = std::int64_t(random.below(21));
    param.shard_numel = (param.numel + 1) / 2;
    param.is_persistent = random.below(6) == 0;
    param.requires_grad = random.below(6) != 0;
  }
  std::vector<FetchModule> nodes(modules);
  std::vector<std::vector<ModuleId>> children(modules);
  for (std::size_t m = 1; m < modules; ++m) {
    nodes[m].is_leaf = random.below(6) == 0;
    std::size_t parent = random.below(m);
    while (nodes[parent].is_leaf) parent = random.below(m);
    children[parent].push_back(ModuleId(m));
  }
  for (std::size_t p = 0; p < params; ++p) {
    nodes[random.below(modules)].own.push_back(ParamId(p));
    if (random.below(8) == 0) nodes[random.below(modules)].own.push_back(ParamId(p));  // tied
  }
  for (FetchModule& node : nodes) node.below = node.own;
  Model model{FetchGraph(entries, nodes), children};
  for (const FetchParam& param : entries)
    model.largest_param = std::max(model.largest_param, param.numel);
  for (std::size_t m = 0; m < modules; ++m) {
    std::int64_t numel = 0;
    for (ParamId id : model.graph.needs(ModuleId(m))) numel += model.graph.param(id).numel;
    model.largest_need = std::max(model.largest_need, numel);
  }
  return model;
}

Call drawn_call(const Model& model, ModuleId module, RandomStream& random, int depth) {
  Call call{module, {}, random.below(5) != 0, random.below(5) == 0};
  for (ModuleId child : model.children[std::size_t(module)])
    for (std::uint64_t times = random.below(8) == 0 ? 2 : 1 - (random.below(10) == 0); times-- > 0;)
      if (depth > 0) call.below.push_back(drawn_call(model, child, random, depth - 1));
  return call;
}

FetchSettings drawn_settings(RandomStream& random) {
  constexpr std::int64_t sizes[] = {0, 1, 10, 25, 60, 1'000'000};
  return {.prefetch_bucket_size = sizes[random.below(6)],
          .max_live_parameters = sizes[random.below(6)],
          .max_reuse_distance = sizes[random.below(6)]};
}

// Iteration drives a coordinator through calls and checks it after every event.
class Iteration {
 public:
  Iteration(const Model& model, Coordinator& coordinator, SimulatedSink& sink)
      : model_(model), coordinator_(coordinator), sink_(sink) {}

  void run(const Call& root, bool trains) {
    coordinator_.reset();
    found_ = sink_.live();
    forward(root);
    if (!trains) return;
    backward(root);
    coordinator_.end_backward();
    check();
    EXPECT_TRUE(coordinator_.in_backward().empty());
  }

 private:
  void enter(ModuleId module, Pass pass) {
    coordinator_.enter(module, pass);
    entered_.push_back(module);
    for (ParamId id : model_.graph.needs(module)) EXPECT_TRUE(sink_.is_whole(id)) << id;
    check();
  }

  void leave(ModuleId module, Pass pass) {
    coordinator_.leave(module, pass);
    entered_.erase(std::find(entered_.begin(), entered_.end(), module));
    check();
  }

  void forward(const Call& call) {
    enter(call.module, Pass::forward);
    for (const Call& below : call.below) forward(below);
    leave(call.module, Pass::forward);
  }

  void backward(const Call& call) {
    enter(call.module, Pass::backward);
    if (call.is_recomputed) forward(call);
    for (std::size_t i = call.below.size(); i-- > 0;) backward(call.below[i]);
    if (call.is_left_backward) leave(call.module, Pass::backward);
  }

  // Checks the bounds of docs/zero.md on the available elements.
  void check() {
    std::set<ParamId> used;
    for (ModuleId module : entered_)
      for (ParamId id : model_.graph.needs(module)) used.insert(id);
    for (std::size_t i = 0; i < model_.graph.param_count(); ++i) {
      const FetchParam& param = model_.graph.param(ParamId(i));
      if (param.is_persistent || !param.requires_grad) used.insert(ParamId(i));
    }
    const FetchSettings& settings = coordinator_.settings();
    std::int64_t bound = found_;
    for (ParamId id : used) bound += model_.graph.param(id).numel;
    if (settings.max_reuse_distance > 0)
      bound += settings.max_reuse_distance - 1 + model_.largest_need;
    if (settings.prefetch_bucket_size > 0)
      bound += std::max<std::int64_t>(settings.max_live_parameters - 1 + model_.largest_param, 0);
    EXPECT_LE(sink_.live(), bound);
    EXPECT_EQ(coordinator_.available(), sink_.live());
  }

  const Model& model_;
  Coordinator& coordinator_;
  SimulatedSink& sink_;
  std::int64_t found_ = 0;  // when the iteration began
  std::vector<ModuleId> entered_;
};

struct FetchOutcome {
  std::vector<std::string> log;
  TraceMode mode = TraceMode::invalid;
};

// A few iterations of one route, one of another, and a few of the first again. The steps are of
// every other iteration.
FetchOutcome run_routes(const Model& model, const std::vector<Call>& routes,
                        const FetchSettings& settings, bool forgets_steps) {
  SimulatedSink sink(model.graph);
  Coordinator coordinator(model.graph, settings, sink);
  constexpr std::size_t route_of[] = {0, 0, 0, 1, 0, 0, 0};
  for (std::size_t i = 0; i < 7; ++i) {
    bool trains = i != 2;
    Iteration(model, coordinator, sink).run(routes[route_of[i]], trains);
    if (!trains || (forgets_steps && i % 2 == 0)) continue;
    coordinator.release_all();
    EXPECT_EQ(sink.live(), 0);
    EXPECT_EQ(sink.in_flight(), 0);
    EXPECT_EQ(coordinator.in_flight(), 0);
  }
  return {sink.log, coordinator.mode()};
}

// 10,000 random models: the available elements stay within the documented bound, modules have the
// parameters that they need, nothing is in flight or left after a step, a route that differs once
// costs only the trace, and two ranks decide the same.
TEST(FetchProperties, HoldForRandomModelsAndSettings) {
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    RandomStream random(seed, 0);
    Model model = drawn_model(random);
    std::vector<Call> routes;
    for (int i = 0; i < 2; ++i) routes.push_back(drawn_call(model, 0, random, 4));
    FetchSettings settings = drawn_settings(random);
    bool forgets_steps = random.below(3) == 0;
    FetchOutcome first = run_routes(model, routes, settings, forgets_steps);
    EXPECT_EQ(first.mode, TraceMode::complete) << seed;
    EXPECT_EQ(first.log, run_routes(model, routes, settings, forgets_steps).log) << seed;
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace simmesh::zero
