#include "core/engine/reports/activity.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

struct Waiting final : Waitable {
  std::string group_text, peer_text;
  bool has_operand = true;

  std::string group() const override { return group_text; }
  std::string peer() const override { return peer_text; }
  std::string operand(RankId rank) const override {
    return has_operand ? "float32[" + std::to_string(rank) + "]" : "";
  }
  std::vector<RankId> missing_ranks() const override { return {}; }
};

// If this fails, the report of a deadlock says less than it knows, or has commas with nothing
// between them.
TEST(Activity, DescribesWhatARankWaitsFor) {
  Activity activity{.operation = "all_reduce", .sequence = 4, .site = {"src/train.cpp", 42}};
  EXPECT_EQ(describe(activity, 2), "all_reduce #4, train.cpp:42");
  Waiting waiting;
  activity.waits_for = &waiting;
  EXPECT_EQ(describe(activity, 2), "all_reduce #4, float32[2], train.cpp:42");
  waiting.group_text = "dp [0, 4]";
  EXPECT_EQ(describe(activity, 2), "all_reduce #4 of dp [0, 4], float32[2], train.cpp:42");
  activity.operation = "send";
  waiting.peer_text = "to rank 3, tag 7";
  waiting.has_operand = false;
  EXPECT_EQ(describe(activity, 2), "send to rank 3, tag 7 of dp [0, 4], train.cpp:42");
}

}  // namespace
}  // namespace simmesh
