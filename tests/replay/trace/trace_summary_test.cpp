#include "replay/trace/trace_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/trace_text.h"

namespace simmesh::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

testing::NodeText with_input(std::int64_t id, std::string tuple, std::string shape) {
  return {.id = id,
          .parent = 2,
          .op_schema = "aten::relu(Tensor a) -> Tensor",
          .inputs = {std::move(tuple), std::move(shape), R"~("Tensor(float)")~", "[]"}};
}

TEST(TraceSummary, CountsTensorsByWhatTheyAre) {
  TraceSummary summary = summarize(testing::trace_from(
      testing::trace_text({with_input(3, R"([5, 6, 0, 4, 4, "cuda:0"])", "[4]"),
                           with_input(4, R"([5, 6, 0, 4, 4, "cuda:0"])", "[2, 2]"),
                           with_input(5, R"([5, 6, 0, 4, 4, "cuda:0"])", "[1, 4]"),
                           with_input(6, R"([7, 6, 0, 4, 4, "cpu"])", "[4]"),
                           with_input(7, R"([0, 0, 0, 0, 0, ""])", "[0]"),
                           with_input(8, R"([9, 9, 0, 1, 4, ""])", "[1]")})));
  EXPECT_EQ(summary.tensor_tuples, 2);
  EXPECT_EQ(summary.tuples_with_two_shapes, 1);
  EXPECT_EQ(summary.tensor_ids, 2);
  EXPECT_EQ(summary.storages, 2);
  EXPECT_EQ(summary.storage_ids, 1);
  EXPECT_EQ(summary.undefined_tensors, 2);
  EXPECT_TRUE(summary.strides);
}

TEST(TraceSummary, CountsNodesByWhatIsOddAboutThem) {
  testing::NodeText other_thread{.id = 9, .parent = 2};
  other_thread.thread = 5;
  TraceSummary summary = summarize(testing::trace_from(testing::trace_text(
      {{.id = 3, .parent = 8}, {.id = 8, .parent = 2}, {.id = 7, .parent = 70}, other_thread})));
  EXPECT_EQ(summary.nodes, 6);
  EXPECT_EQ(summary.unique_ids, 6);
  EXPECT_EQ(summary.min_id, 1);
  EXPECT_EQ(summary.max_id, 9);
  EXPECT_EQ(summary.root, 1);
  EXPECT_EQ(summary.orphans, 1);
  // A parent that isn't there can't be older either.
  EXPECT_EQ(summary.backward_parent, 2);
  EXPECT_EQ(summary.file_order_inversions, 3);
  EXPECT_THAT(summary.threads, ElementsAre(Pair(0, 1), Pair(1, 4), Pair(5, 1)));
}

}  // namespace
}  // namespace simmesh::replay
