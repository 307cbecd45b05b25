#include "pipeline/analysis/spacing.h"

#include <gtest/gtest.h>

#include "pipeline/schedule/order.h"
#include "tests/expect_error.h"
#include "tests/pipeline/rows_of.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;
using simmesh::testing::rows_of;
using simmesh::testing::Texts;
using simmesh::testing::texts_of;

// If this fails, pictures show other times than PyTorch's.
TEST(PipelineSpacing, StartsActionsWhenTheirInputsAreComplete) {
  EXPECT_EQ(
      texts_of(space_out(rows_of({"0F0,0B0", "1F0,1I0,1W0", "2F0,2I0,2W0", "3F0,3I0,3W0"})).rows),
      (Texts{"0F0,,,,,,,0B0", ",1F0,,,,,1I0,1W0", ",,2F0,,,2I0,2W0,", ",,,3F0,3I0,3W0,,"}));
}

// If this fails, a rank that ends early takes the work of the next one.
TEST(PipelineSpacing, KeepsEachActionOnItsRank) {
  EXPECT_EQ(texts_of(space_out(rows_of({"1F0,1B0", "0F0,0B0,0F1,0B1", "1F1,1B1"})).rows)[0],
            ",1F0,1B0,,,,,,,");
  EXPECT_EQ(texts_of(space_out(rows_of({"0F1,0I1,0W1,0F0,0I0,0W0"})).rows)[0],
            "0F1,0I1,0W1,0F0,0I0,0W0");
}

// If this fails, the bubble of a schedule is wrong: (P - 1) / (m + P - 1) of the time for GPipe and
// 1F1B, where a backward takes twice as long as a forward.
TEST(PipelineSpacing, GivesTheBubbleOfTheFormula) {
  for (std::int64_t ranks = 1; ranks <= 4; ++ranks) {
    for (std::int64_t m = ranks; m <= 8; ++m) {
      for (ScheduleClass schedule : {ScheduleClass::gpipe, ScheduleClass::one_f_one_b}) {
        SpacedSchedule spaced = space_out(compute_rows(compute_order(schedule, {ranks, 1, m})));
        EXPECT_EQ(spaced.end, 3 * (m + ranks - 1));
        EXPECT_EQ(spaced.idle_of(0), 3 * (ranks - 1));
        EXPECT_EQ(spaced.bubble(), double(ranks - 1) / double(m + ranks - 1));
      }
    }
  }
}

// If this fails, a schedule that hangs is drawn.
TEST(PipelineSpacing, RefusesWhatCantRun) {
  expect_error(
      [] {
        space_out(rows_of({"0B0,0F0", "1F0"}));
      },
      ErrorKind::runtime_error, "No progress");
  expect_error([] { space_out(rows_of({"0UNSHARD"})); }, ErrorKind::runtime_error, "0UNSHARD");
  EXPECT_EQ(duration_of(Action::parse("(0F0;1B0)OVERLAP_F_B")), 3);
  EXPECT_EQ(space_out({}).bubble(), 0.0);
}

}  // namespace
}  // namespace simmesh::pipeline
