#include "pipeline/runtime/meta_messages.h"

#include <gtest/gtest.h>

#include "tests/every_schedule.h"

namespace simmesh::pipeline {
namespace {

// If this fails, a stage expects other tensors than the stage before it sends.
TEST(MetaMessages, CarryShapesDtypesAndDirections) {
  GradMetas metas = {TensorMeta{Shape{2, 0, 5}, DType::bfloat16, true}, std::nullopt,
                     TensorMeta{Shape{}, DType::int64, false}};
  run_every_schedule(2, [&](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    if (rank.id() == 0) {
      send_metas({MetaDirection::backward, metas}, 1, world);
      send_metas({MetaDirection::forward, {}}, 1, world);
      return;
    }
    StageMessage first = recv_metas(0, world), second = recv_metas(0, world);
    EXPECT_EQ(first.direction, MetaDirection::backward);
    EXPECT_EQ(first.metas, metas);
    EXPECT_EQ(second.direction, MetaDirection::forward);
    EXPECT_TRUE(second.metas.empty());
  });
}

}  // namespace
}  // namespace simmesh::pipeline
