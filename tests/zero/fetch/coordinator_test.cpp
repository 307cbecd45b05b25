#include "zero/fetch/coordinator.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"
#include "tests/zero/simulated_sink.h"
#include "zero/fetch/fetch_graph.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A root and three layers of ten elements each, over two ranks.
FetchGraph three_layers() {
  std::vector<FetchParam> params(3, {.numel = 10, .shard_numel = 5});
  return {params, {{{}, {0, 1, 2}}, {{0}, {0}}, {{1}, {1}}, {{2}, {2}}}};
}

// FetchRun drives a coordinator over a graph with a simulated sink.
struct FetchRun {
  explicit FetchRun(const FetchGraph& given, const FetchSettings& settings)
      : graph(given), sink(graph), coordinator(graph, settings, sink) {}

  void call(ModuleId module) {
    coordinator.enter(module, Pass::forward);
    coordinator.leave(module, Pass::forward);
  }
  void forward(const std::vector<ModuleId>& order) {
    coordinator.reset();
    coordinator.enter(0, Pass::forward);
    for (ModuleId module : order) call(module);
    coordinator.leave(0, Pass::forward);
  }
  void backward(const std::vector<ModuleId>& order) {
    coordinator.enter(0, Pass::backward);
    for (ModuleId module : order) {
      coordinator.enter(module, Pass::backward);
      coordinator.leave(module, Pass::backward);
    }
    coordinator.end_backward();
  }
  std::vector<std::string> take_log() { return std::exchange(sink.log, {}); }

  FetchGraph graph;
  SimulatedSink sink;
  Coordinator coordinator;
};

// If this fails, recording fetches ahead, or ranks don't compare their recordings.
TEST(Coordinator, RecordsThenPrefetches) {
  FetchRun run(three_layers(), {.prefetch_bucket_size = 10, .max_reuse_distance = 0});
  run.forward({1, 2, 3});
  EXPECT_THAT(run.take_log(), ElementsAre("agree on modules in the trace", "gather 0", "release 0",
                                          "gather 1", "release 1", "gather 2", "release 2"));
  EXPECT_EQ(run.coordinator.mode(), TraceMode::record);
  run.forward({1, 2, 3});
  EXPECT_EQ(run.coordinator.mode(), TraceMode::complete);
  EXPECT_THAT(
      run.take_log(),
      ElementsAre("agree on modules in the trace 0 1 2 3", "agree on parameters in the trace 0 1 2",
                  "agree on steps in the trace 1 2 3", "gather 0", "gather 1", "release 0",
                  "gather 2", "release 1", "release 2"));
}

// If this fails, the limit on live parameters doesn't stop prefetching, or stops it too early.
TEST(Coordinator, PrefetchesUpToTheLimitOfLiveParameters) {
  FetchRun run(three_layers(), {.max_live_parameters = 15, .max_reuse_distance = 0});
  run.forward({1, 2, 3});
  run.take_log();
  run.forward({1, 2, 3});
  EXPECT_EQ(run.sink.highest, 20);
  EXPECT_EQ(run.coordinator.available(), 0);
}

// If this fails, prefetching continues beyond a shard that nobody has read, so that it comes late.
TEST(Coordinator, StopsPrefetchingAtAnAbsentShard) {
  FetchRun run(three_layers(), {.prefetch_bucket_size = 20, .max_reuse_distance = 0});
  run.forward({1, 2, 3});
  run.take_log();
  run.sink.absent = {1};
  run.forward({1, 2, 3});
  std::vector<std::string> log = run.take_log();
  log.erase(log.begin(), log.begin() + 3);
  EXPECT_THAT(
      log, ElementsAre("gather 0", "release 0", "gather 1", "gather 2", "release 1", "release 2"));
  run.sink.absent.clear();
  run.forward({1, 2, 3});
  EXPECT_THAT(run.take_log(),
              ElementsAre("gather 0 1", "gather 2", "release 0", "release 1", "release 2"));
}

// If this fails, a module keeps too many or too few of the parameters that are used again soon.
TEST(Coordinator, KeepsWhatIsUsedWithinTheReuseDistance) {
  for (auto [distance, expected] : {std::pair(10, 0), std::pair(11, 10)}) {
    FetchRun run(three_layers(), {.prefetch_bucket_size = 0, .max_reuse_distance = distance});
    run.forward({1, 2, 1});
    run.forward({1});
    EXPECT_EQ(run.sink.live(), expected) << distance;
  }
}

// If this fails, another order of modules is fetched by the old trace, or the new one isn't
// recorded.
TEST(Coordinator, RecoversAfterAnotherRoute) {
  FetchRun run(three_layers(), {.prefetch_bucket_size = 20, .max_reuse_distance = 0});
  run.forward({1, 2, 3});
  run.forward({1, 2, 3});
  run.forward({2, 3});
  EXPECT_EQ(run.coordinator.mode(), TraceMode::invalid);
  EXPECT_EQ(run.coordinator.in_flight(), 0);
  run.forward({2, 3});
  run.forward({2, 3});
  EXPECT_EQ(run.coordinator.mode(), TraceMode::complete);
  run.forward({2});
  EXPECT_EQ(run.coordinator.mode(), TraceMode::complete) << "stopping short keeps the trace";
  run.forward({2, 3, 3});
  EXPECT_EQ(run.coordinator.mode(), TraceMode::invalid) << "going on beyond its end doesn't";
}

// If this fails, prefetches that nobody used stay when an iteration ended short.
TEST(Coordinator, DropsUnusedPrefetchesAtTheNextIteration) {
  FetchRun run(three_layers(), {.max_reuse_distance = 0});
  run.forward({1, 2, 3});
  run.forward({});
  EXPECT_EQ(run.coordinator.in_flight(), 3);
  run.take_log();
  run.coordinator.reset();
  EXPECT_THAT(run.take_log(), ElementsAre("release 0", "release 1", "release 2"));
  EXPECT_EQ(run.coordinator.in_flight(), 0);
}

// If this fails, parameters of modules whose inputs need no gradient are never released.
TEST(Coordinator, ReleasesWhatWasNeverLeft) {
  FetchRun run(three_layers(), {.max_reuse_distance = 0});
  run.forward({1, 2, 3});
  run.coordinator.enter(2, Pass::backward);
  run.coordinator.enter(1, Pass::backward);
  EXPECT_THAT(run.coordinator.in_backward(), ElementsAre(2, 1));
  run.take_log();
  run.coordinator.end_backward();
  EXPECT_THAT(run.take_log(), ElementsAre("release 0", "release 1"));
}

// If this fails, persistent parameters are dropped under a complete trace.
TEST(Coordinator, KeepsPersistentParametersUnderATrace) {
  std::vector<FetchParam> params(2, {.numel = 4, .shard_numel = 2});
  params[1].is_persistent = true;
  FetchRun run({params, {{{}, {0, 1}}, {{0, 1}, {0, 1}}}}, {.max_reuse_distance = 0});
  run.forward({1});
  EXPECT_EQ(run.sink.live(), 0) << "while recording nothing is persistent";
  run.forward({1});
  EXPECT_TRUE(run.sink.is_whole(1));
  EXPECT_FALSE(run.sink.is_whole(0));
  run.coordinator.release_all();
  EXPECT_EQ(run.sink.live(), 0);
}

// A parameter that came out of a forward is released at a step only; one that a module merely uses
// is released with that module.
TEST(Coordinator, ReleasesReturnedParametersAtAStepOnly) {
  for (bool returned : {false, true}) {
    FetchRun run(three_layers(), {.max_reuse_distance = 0});
    run.coordinator.reset();
    run.coordinator.enter(0, Pass::forward);
    run.coordinator.register_external(0, 2, returned);
    run.sink.gather_elsewhere(2);
    run.coordinator.gathered_elsewhere(2);
    run.coordinator.leave(0, Pass::forward);
    EXPECT_EQ(run.sink.is_whole(2), returned);
    run.coordinator.release_all();
    EXPECT_FALSE(run.sink.is_whole(2));
    EXPECT_EQ(run.coordinator.available(), 0);
  }
}

// If this fails, an external parameter that is registered late breaks the trace for good.
TEST(Coordinator, RecordsAgainWhenAModuleNeedsMore) {
  FetchRun run(three_layers(), {.max_reuse_distance = 0});
  run.forward({1, 2, 3});
  run.forward({1, 2, 3});
  run.coordinator.register_external(1, 2, false);
  run.forward({1, 2, 3});
  EXPECT_EQ(run.coordinator.mode(), TraceMode::invalid);
  run.forward({1, 2, 3});
  run.forward({1, 2, 3});
  EXPECT_EQ(run.coordinator.mode(), TraceMode::complete);

  FetchRun faulty(three_layers(),
                  {.prefetch_bucket_size = 0, .faults = {.breaks_on_changes = true}});
  faulty.forward({1, 2, 3});
  faulty.forward({1, 2, 3});
  faulty.coordinator.register_external(1, 2, false);
  expect_error(
      [&] {
        faulty.forward({1, 2, 3});
      },
      ErrorKind::runtime_error, "tracing error at step 1");
}

// Parameters that are available when an iteration begins count, and so do external ones.
TEST(Coordinator, CountsWhatIsThereWhenAnIterationBegins) {
  for (bool fetched_only : {false, true}) {
    FetchRun run(three_layers(), {.faults = {.counts_fetched_only = fetched_only}});
    run.coordinator.register_external(0, 2, true);
    run.sink.gather_elsewhere(2);
    run.coordinator.gathered_elsewhere(2);
    run.coordinator.reset();
    EXPECT_EQ(run.coordinator.available(), fetched_only ? 0 : 10);
  }
}

// A recomputation runs a module forward within backward: its parameters stay until both are over.
TEST(Coordinator, KeepsParametersThatBackwardNeedsAfterARecomputation) {
  for (bool faulty : {false, true}) {
    FetchRun run(three_layers(),
                 {.max_reuse_distance = 0, .faults = {.ends_use_by_recomputation = faulty}});
    run.coordinator.reset();
    run.coordinator.enter(1, Pass::backward);
    run.call(1);
    EXPECT_EQ(run.sink.is_whole(0), !faulty);
    run.coordinator.leave(1, Pass::backward);
    EXPECT_FALSE(run.sink.is_whole(0));
  }
}

// Frozen parameters of a recomputation get no gradient that would tell when they aren't needed
// any more: the module in backward holds them.
TEST(Coordinator, HoldsFrozenParametersForTheBackwardThatRecomputes) {
  std::vector<FetchParam> params(2, {.numel = 4, .shard_numel = 2});
  params[1].requires_grad = false;
  FetchRun run({params, {{{}, {0, 1}}, {{0}, {0}}, {{1}, {1}}}}, {.max_reuse_distance = 0});
  run.coordinator.reset();
  run.coordinator.enter(1, Pass::backward);
  run.call(2);
  EXPECT_TRUE(run.sink.is_whole(1));
  run.coordinator.leave(1, Pass::backward);
  EXPECT_EQ(run.sink.live(), 0);
}

// If this fails, a module's number or a status is not checked.
TEST(Coordinator, RefusesWhatCannotBe) {
  FetchRun run(three_layers(), {});
  expect_error([&] { run.coordinator.enter(4, Pass::forward); }, ErrorKind::index_error,
               "expected a module below 4, got 4");
  expect_error([&] { run.coordinator.register_external(0, 3, false); }, ErrorKind::index_error,
               "expected a parameter below 3, got 3");
  expect_error([&] { run.coordinator.unregister_external(0, 1); }, ErrorKind::runtime_error,
               "expected an external parameter of module 0, got parameter 1");
  expect_error([&] { run.coordinator.released_elsewhere(0); }, ErrorKind::runtime_error,
               "expected parameter 0 to be AVAILABLE when it is partitioned, got NOT_AVAILABLE");
}

}  // namespace
}  // namespace simmesh::zero
