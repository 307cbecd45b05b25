#include "zero/fetch/release_rule.h"

#include <gmock/gmock.h>

#include "zero/fetch/fetch_trace.h"

namespace simmesh::zero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two linear layers, and a leaf with two parameters, below a root.
FetchGraph with_leaf() {
  std::vector<FetchParam> params(4, {.numel = 10, .shard_numel = 5});
  return {params, {{{}, {0, 1, 2, 3}}, {{0}, {0}}, {{}, {1, 2}, true}, {{3}, {3}}}};
}

FetchTrace traced(const FetchGraph& graph, const std::vector<ModuleId>& order) {
  FetchTrace trace;
  trace.begin();
  for (ModuleId module : order) trace.record(module);
  trace.complete(graph);
  return trace;
}

struct Question {
  ModuleId module;
  std::int64_t step;
};

std::vector<ParamId> given_up(const FetchGraph& graph, const std::vector<ModuleId>& order,
                              Question question, FetchSettings settings,
                              std::vector<std::int64_t> recent = {-1, -1, -1, -1}) {
  FetchTrace trace = traced(graph, order);
  ReleaseRule rule;
  return rule.given_up(question.module, question.step, {graph, trace, recent, settings});
}

// If this fails, a leaf module's parameters count as used by the root too, or those of a leaf ahead
// are overlooked.
TEST(ReleaseRule, LooksAheadAtWhatModulesNeed) {
  FetchGraph graph = with_leaf();
  FetchSettings right{.max_reuse_distance = 100};
  FetchSettings faulty = right;
  faulty.faults.looks_ahead_as_released = true;
  EXPECT_THAT(given_up(graph, {2, 0, 3}, {2, 1}, right), ElementsAre(1, 2));
  EXPECT_THAT(given_up(graph, {2, 0, 3}, {2, 1}, faulty), IsEmpty());
  graph.add_external(3, 1, false);
  EXPECT_THAT(given_up(graph, {3, 2}, {3, 1}, right), ElementsAre(3));
  EXPECT_THAT(given_up(graph, {3, 2}, {3, 1}, faulty), ElementsAre(1, 3));
}

// The distance is looked at before each module: all of one whose begin is near enough is near.
TEST(ReleaseRule, TheDistanceCountsWholeModules) {
  FetchGraph graph = with_leaf();
  for (auto [distance, count] : {std::pair(0, 1), std::pair(20, 1), std::pair(21, 0)})
    EXPECT_EQ(given_up(graph, {1, 2, 1}, {1, 1}, {.max_reuse_distance = distance}).size(),
              std::size_t(count))
        << distance;
}

// If this fails, a parameter goes whose next use the prefetcher has passed over already.
TEST(ReleaseRule, KeepsWhatTheQueueHasGivenOut) {
  FetchGraph graph = with_leaf();
  EXPECT_THAT(given_up(graph, {1, 3, 3, 1}, {1, 1}, {.max_reuse_distance = 0}, {3, -1, -1, -1}),
              IsEmpty());
  EXPECT_THAT(given_up(graph, {1, 3, 3, 1}, {1, 1}, {.max_reuse_distance = 0}, {0, -1, -1, -1}),
              ElementsAre(0));
}

}  // namespace
}  // namespace simmesh::zero
