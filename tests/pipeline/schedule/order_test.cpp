#include "pipeline/schedule/order.h"

#include <gtest/gtest.h>
#include <map>

#include "pipeline/schedule/rank_orders.h"
#include "tests/expect_error.h"
#include "tests/pipeline/rows_of.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::rows_of;
using simmesh::testing::Texts;
using simmesh::testing::texts_of;

Texts order_of(ScheduleClass schedule, const ScheduleShape& shape) {
  return texts_of(compute_order(schedule, shape));
}

// If this fails, a rank does its work in another order than PyTorch's. The texts are PyTorch's.
TEST(PipelineOrder, IsTheRecordedOne) {
  EXPECT_EQ(order_of(ScheduleClass::gpipe, {2, 1, 2})[1],
            "1F0,1F1,1B0,1B1,1REDUCE_GRAD,1WAIT_REDUCE_GRAD");
  EXPECT_EQ(order_of(ScheduleClass::forward_only, {2, 1, 3})[1], "1F0,1F1,1F2");
  EXPECT_EQ(order_of(ScheduleClass::looped_bfs, {1, 2, 2})[0], "0F0,0F1,1F0,1F1,1B1,1B0,0B1,0B0");
  EXPECT_EQ(order_of(ScheduleClass::interleaved_1f1b, {1, 2, 2})[0],
            "0F0,,1F0,1B0,0F1,0B0,1F1,1B1,,0B1");
  EXPECT_EQ(order_of(ScheduleClass::interleaved_zero_bubble, {1, 2, 2})[0],
            "0F0,1F0,1I0,1W0,0F1,0I0,0W0,1F1,1I1,1W1,0I1,0W1");
  EXPECT_EQ(order_of(ScheduleClass::zbv_zero_bubble, {2, 2, 4}),
            (Texts{"0F0,0F1,0F2,3F0,3I0,3W0,3F1,3I1,3W1,0F3,0I0,0W0,3F2,3I2,3W2,0I1,0W1,3F3,3I3,"
                   "3W3,0I2,0W2,0I3,0W3",
                   ",1F0,2F0,1F1,2F1,2I0,2W0,1F2,1I0,1W0,2F2,2I1,2W1,1F3,1I1,1W1,2F3,2I2,2W2,1I2,"
                   "2I3,1I3,1W2,2W3,1W3"}));
  EXPECT_EQ(order_of(ScheduleClass::dual_pipe_v, {1, 2, 3})[0],
            "0F0,1F0,0F1,1B0,(1F1;0B0)OVERLAP_F_B,(0F2;1B1)OVERLAP_F_B,(1F2;0B1)OVERLAP_F_B,1B2,"
            "0I2,0W2");
}

// If this fails, the order of 1F1B is PyTorch's published one, whose last rank skips micro-batch 0.
TEST(PipelineOrder, Of1F1BBeginsWithMicrobatch0OnEveryRank) {
  EXPECT_EQ(order_of(ScheduleClass::one_f_one_b, {2, 1, 3}),
            (Texts{"0F0,0F1,0B0,0F2,0B1,0B2,0REDUCE_GRAD,0WAIT_REDUCE_GRAD",
                   "1F0,1B0,1F1,1B1,1F2,1B2,1REDUCE_GRAD,1WAIT_REDUCE_GRAD"}));
}

// If this fails, work is lost or done twice in some shape.
TEST(PipelineOrder, HasEachMicrobatchOfEachStageOnce) {
  for (ScheduleClass schedule : schedule_classes()) {
    for (std::int64_t ranks = 1; ranks <= 4; ++ranks) {
      ScheduleShape shape{ranks, is_single_stage(schedule) ? 1 : 2, 8};
      std::map<ActionKey, int> counts;
      for (const Row& row : compute_order(schedule, shape))
        for (const Action& action : row)
          for (const Action& leaf : action.leaves()) ++counts[leaf.key()];
      for (std::int64_t stage = 0; stage < shape.stages(); ++stage) {
        for (std::int64_t i = 0; i < shape.microbatches; ++i) {
          int inputs = counts[{stage, ActionKind::backward_input, i}];
          int full = counts[{stage, ActionKind::full_backward, i}];
          EXPECT_EQ((counts[{stage, ActionKind::forward, i}]), 1);
          EXPECT_EQ(inputs + full, schedule == ScheduleClass::forward_only ? 0 : 1);
          EXPECT_EQ((counts[{stage, ActionKind::backward_weight, i}]), inputs);
        }
      }
    }
  }
}

// If this fails, a forward of a zero-bubble schedule comes before its input.
TEST(PipelineOrder, DelaysForwardsUntilTheStageBeforeIsDone) {
  EXPECT_EQ(texts_of(delay_forwards(rows_of({",0F0", "1F0,1I0", "2F0"}))),
            (Texts{",0F0", ",,1F0,1I0", ",,,2F0"}));
}

// If this fails, the row of a single rank isn't that of the order.
TEST(PipelineOrder, IsMadeOfTheRowsOfRanks) {
  ScheduleShape shape{2, 2, 4};
  auto expect_row = [&](ScheduleClass schedule, const Row& row) {
    EXPECT_EQ(compute_order(schedule, shape)[1], row);
  };
  expect_row(ScheduleClass::looped_bfs, looped_bfs_row(shape, 1));
  expect_row(ScheduleClass::interleaved_1f1b, interleaved_row(shape, 1, false));
  expect_row(ScheduleClass::zbv_zero_bubble, zbv_row(shape, 1));
  expect_row(ScheduleClass::dual_pipe_v, dual_pipe_v_row(shape, 1));
  ScheduleShape single{2, 1, 4};
  EXPECT_EQ(compute_order(ScheduleClass::gpipe, single)[1], gpipe_row(single, 1));
  EXPECT_EQ(compute_order(ScheduleClass::one_f_one_b, single)[1], one_f_one_b_row(single, 1));
  EXPECT_EQ(compute_order(ScheduleClass::forward_only, single)[1], forward_only_row(single, 1));
  simmesh::testing::expect_error(
      [] {
        compute_order(ScheduleClass::one_f_one_b, {2, 1, 1});
      },
      ErrorKind::value_error, "number of stages");
}

}  // namespace
}  // namespace simmesh::pipeline
