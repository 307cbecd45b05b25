#include "pipeline/schedule/schedule_class.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;

// If this fails, a schedule can't be named as in PyTorch.
TEST(PipelineScheduleClass, HasANameInAnyCase) {
  for (ScheduleClass schedule : schedule_classes())
    EXPECT_EQ(schedule_class_from_string(to_string(schedule)), schedule);
  EXPECT_EQ(schedule_classes().size(), 8u);
  EXPECT_EQ(schedule_class_from_string("dualpipev"), ScheduleClass::dual_pipe_v);
  expect_error([] { schedule_class_from_string("2F2B"); }, ErrorKind::value_error, "GPipe");
}

// If this fails, a shape is taken that PyTorch refuses, or the other way round.
TEST(PipelineScheduleClass, RefusesShapes) {
  auto refused = [](ScheduleClass schedule, const ScheduleShape& shape, const char* phrase) {
    expect_error([&] { validate_shape(schedule, shape); }, ErrorKind::value_error, phrase);
  };
  refused(ScheduleClass::one_f_one_b, {4, 1, 3}, "number of stages (4)");
  validate_shape(ScheduleClass::one_f_one_b, {4, 1, 4});
  refused(ScheduleClass::interleaved_1f1b, {2, 2, 5}, "number of rounds (2), but got 5");
  refused(ScheduleClass::interleaved_zero_bubble, {2, 2, 5}, "number of rounds (2)");
  validate_shape(ScheduleClass::interleaved_1f1b, {4, 2, 7});
  refused(ScheduleClass::zbv_zero_bubble, {2, 3, 4}, "exactly 2 stages per rank, but got 3");
  validate_shape(ScheduleClass::zbv_zero_bubble, {4, 2, 1});
  refused(ScheduleClass::dual_pipe_v, {2, 1, 8}, "exactly 2 stages per rank");
  refused(ScheduleClass::dual_pipe_v, {2, 2, 3}, "at least as many microbatches as stages");
  validate_shape(ScheduleClass::gpipe, {4, 1, 1});
  refused(ScheduleClass::gpipe, {0, 1, 1}, "at least one rank");
}

// If this fails, the stages of a V schedule are on the ranks of a loop.
TEST(PipelineScheduleClass, KnowsItsStages) {
  EXPECT_EQ(stage_map_of(ScheduleClass::dual_pipe_v, {2, 2, 4}).ranks(4),
            (std::vector<std::int64_t>{0, 1, 1, 0}));
  EXPECT_EQ(stage_map_of(ScheduleClass::looped_bfs, {2, 2, 4}).ranks(4),
            (std::vector<std::int64_t>{0, 1, 0, 1}));
  EXPECT_TRUE(is_single_stage(ScheduleClass::gpipe));
  EXPECT_FALSE(is_single_stage(ScheduleClass::looped_bfs));
  EXPECT_TRUE(has_split_backward(ScheduleClass::dual_pipe_v));
  EXPECT_FALSE(has_split_backward(ScheduleClass::interleaved_1f1b));
}

}  // namespace
}  // namespace simmesh::pipeline
