#include "training/pipelined/stage_fsdp.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// A call that names a module of another stage would find no such module.
TEST(StageFsdp, KeepsTheCallsOfItsStage) {
  StagePlan stages;
  stages.stages = 2;
  stages.parts = {{"a", {}, 0}, {"b", {}, 0}, {"c", {}, 1}};
  FsdpPlan whole;
  WrapPlan wrap;
  for (const std::vector<std::string>& modules :
       std::vector<std::vector<std::string>>{{"a"}, {"b", "c"}, {"c"}, {""}}) {
    wrap.modules = modules;
    wrap.shard_dims = {{"a.weight", std::int64_t(0)}, {"c.weight", std::int64_t(1)}};
    whole.wraps.push_back(wrap);
  }
  FsdpPlan first = fsdp_plan_of_stage(whole, stages, 0);
  ASSERT_EQ(first.wraps.size(), 3u);
  EXPECT_EQ(first.wraps[1].modules, std::vector<std::string>{"b"});
  EXPECT_TRUE(first.wraps[1].as_list);
  EXPECT_EQ(first.wraps[2].modules, std::vector<std::string>{""});
  EXPECT_EQ(first.wraps[0].shard_dims.size(), 1u);
  FsdpPlan second = fsdp_plan_of_stage(whole, stages, 1);
  EXPECT_EQ(second.wraps.size(), 3u);
  EXPECT_EQ(second.wraps[0].shard_dims.count("c.weight"), 1u);
}

}  // namespace
}  // namespace simmesh
