#include "gate/records/sharding_pictures.h"

#include <gmock/gmock.h>

namespace simmesh {
namespace {

using ::testing::HasSubstr;

PlanRequest request_to(const Placements& to) {
  return {.shape = {4, 8}, .mesh_shape = {2, 2}, .from = {Shard(0), Replicate()}, .to = to};
}

// Each step of a redistribution is a picture, with the ranks that hold each part.
TEST(ShardingPictures, ShowEachStepOfARedistribution) {
  PlanCache cache;
  cache.find_or_make(request_to({Replicate(), Shard(1)}));
  ShardingPictures pictures(4);
  pictures.add_plans(cache);
  pictures.add_plans(cache);
  JsonValue json = pictures.json();
  const auto& groups = *json.find("groups")->get<JsonValue::List>();
  ASSERT_EQ(groups.size(), 1u);
  const auto& steps = *groups[0].find("steps")->get<JsonValue::List>();
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_TRUE(steps[0].find("title")->is_text("start: S(0),R"));
  EXPECT_THAT(steps[2].text(), HasSubstr("all_gather"));
  EXPECT_THAT(steps[0].text(), HasSubstr(R"("segments":[[[0,2],[2,2]],[[0,8]]])"));
  EXPECT_THAT(steps[0].text(), HasSubstr(R"x("pieces":["(0,*)","(1,*)"])x"));
}

TEST(ShardingPictures, SayHowManyAreLeftOut) {
  PlanCache cache;
  cache.find_or_make(request_to({Replicate(), Shard(1)}));
  cache.find_or_make(request_to({Replicate(), Replicate()}));
  ShardingPictures pictures(1);
  pictures.add_plans(cache);
  EXPECT_THAT(pictures.json().text(), HasSubstr("The page leaves out 1 other sharding"));
  EXPECT_TRUE(ShardingPictures(1).json().is_null());
}

}  // namespace
}  // namespace simmesh
