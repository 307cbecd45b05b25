#include "replay/trace/replay_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/replay/trace_text.h"

namespace simmesh::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::int64_t> ids(const ExecutionTrace& trace, const std::vector<std::uint32_t>& list) {
  std::vector<std::int64_t> result;
  for (std::uint32_t i : list) result.push_back(trace.nodes[i].id);
  return result;
}

testing::NodeText op(std::int64_t id, std::int64_t parent) {
  return {.id = id, .parent = parent, .op_schema = "aten::add(Tensor a) -> Tensor"};
}

testing::NodeText step(std::int64_t id, int number) {
  return {.id = id, .parent = 2, .name = fmt::format("ProfilerStep#{}", number)};
}

ExecutionTrace two_steps() {
  return testing::trace_from(
      testing::trace_text({step(3, 4),
                           op(4, 3),
                           op(5, 4),
                           {.id = 6, .parent = 3, .name = "annotation"},
                           op(7, 6),
                           step(8, 5),
                           op(9, 2),
                           {.id = 10, .parent = 8, .name = "record_param_comms"}}));
}

TEST(ReplayList, StopsAtTheFirstOperatorOfAPath) {
  ExecutionTrace trace = two_steps();
  ReplayList list = replay_list(trace, tree_of(trace));
  EXPECT_THAT(ids(trace, list.operators), ElementsAre(4, 7, 9, 10));
  EXPECT_THAT(ids(trace, list.steps), ElementsAre(3, 8));
}

TEST(ReplayList, AWindowGoesFromOneMarkerToTheNext) {
  ExecutionTrace trace = two_steps();
  ReplayList list = replay_list(trace, tree_of(trace));
  EXPECT_THAT(ids(trace, window_of(trace, list, 0)), ElementsAre(4, 7));
  EXPECT_THAT(ids(trace, window_of(trace, list, 1)), ElementsAre(9, 10));
  EXPECT_EQ(window_of(trace, list, std::nullopt), list.operators);
  EXPECT_THROW(window_of(trace, list, 2), Error);
}

TEST(ReplayList, LabelsOfC10dAreNoOperators) {
  ExecutionTrace trace = testing::trace_from(testing::trace_text(
      {{.id = 3, .parent = 2, .name = "c10d::allreduce_", .op_schema = "c10d::allreduce_(...)"},
       {.id = 4, .parent = 3, .name = "record_param_comms"},
       {.id = 5,
        .parent = 2,
        .name = "triton_fused",
        .more_attributes =
            R"(,{"name": "kernel_backend", "type": "string", "value": "triton"})"}}));
  ReplayList list = replay_list(trace, tree_of(trace));
  EXPECT_THAT(ids(trace, list.operators), ElementsAre(4, 5));
}

TEST(TraceTree, HangsOrphansUnderTheirThread) {
  testing::NodeText orphan = op(7, 900);
  testing::NodeText stranger = op(8, 901);
  stranger.thread = 77;
  ExecutionTrace trace = testing::trace_from(testing::trace_text({orphan, stranger}));
  TraceTree tree = tree_of(trace);
  EXPECT_THAT(ids(trace, tree.orphans), ElementsAre(7, 8));
  EXPECT_EQ(trace.nodes[tree.parents[2]].id, 2);
  EXPECT_EQ(trace.nodes[tree.parents[3]].id, 1);
  EXPECT_THAT(ids(trace, replay_list(trace, tree).operators), ElementsAre(7, 8));
}

TEST(TraceTree, RefusesACircleAndNothing) {
  ExecutionTrace circle =
      testing::trace_from(testing::trace_text({op(7, 9), op(8, 7), op(9, 8), op(10, 9)}));
  EXPECT_THROW(tree_of(circle), Error);
  EXPECT_THROW(tree_of(ExecutionTrace{}), Error);
}

}  // namespace
}  // namespace simmesh::replay
