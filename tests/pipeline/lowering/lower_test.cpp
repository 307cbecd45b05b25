#include "pipeline/lowering/lower.h"

#include <gtest/gtest.h>

#include "pipeline/lowering/messages.h"
#include "pipeline/schedule/order.h"
#include "tests/expect_error.h"
#include "tests/pipeline/rows_of.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;
using simmesh::testing::rows_of;
using simmesh::testing::Texts;
using simmesh::testing::texts_of;

constexpr ScheduleSize two_by_two{2, 2, 2};
const Rows plain = rows_of({"0F0,0F1,0B0,0B1", "1F0,1B0,1F1,1B1"});

Texts names_of(const LoweredSchedule& schedule) {
  Texts names;
  for (const LoweringPass& pass : schedule.passes) names.push_back(pass.name);
  return names;
}

// If this fails, a pass is left out, or runs in another order.
TEST(PipelineLower, RunsThePassesInOrder) {
  LoweredSchedule schedule =
      lower(plain, two_by_two, {.defer_pp_recv = true, .max_outstanding_sends = 1});
  EXPECT_EQ(names_of(schedule), (Texts{"compute", "unshard", "reduce_grad", "send_recv",
                                       "wait_send", "defer_recv", "send_budget"}));
  EXPECT_EQ(names_of(lower(plain, two_by_two)),
            (Texts{"compute", "unshard", "reduce_grad", "send_recv", "wait_send"}));
  EXPECT_EQ(texts_of(lower(plain, two_by_two).rows())[0],
            "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0WAIT_SEND_F0,0RECV_B1,0B1,"
            "0WAIT_SEND_F1,0REDUCE_GRAD,0WAIT_REDUCE_GRAD,0RESHARD");
  expect_error([] { lower(plain, two_by_two, {.max_outstanding_sends = -1}); },
               ErrorKind::value_error, "non-negative");
  expect_error(
      [] {
        lower(rows_of({"0F0,0F1,0UNSHARD,0B0,0B1", "1F0,1B0,1F1,1B1"}), two_by_two);
      },
      ErrorKind::value_error,
      "Expected compute-only schedule but found communication action "
      "'0UNSHARD' at rank 0, position 2");
}

// If this fails, rows that are complete already are changed, or taken although they can't run.
TEST(PipelineLower, AdoptsCompleteRows) {
  Rows complete = lower(plain, two_by_two).rows();
  EXPECT_EQ(adopt_lowered(complete, two_by_two).rows(), complete);
  complete[0].insert(complete[0].begin(), Action());
  expect_error([&] { adopt_lowered(complete, two_by_two); }, ErrorKind::assertion_error, "None");
  expect_error([] { adopt_lowered(plain, two_by_two, {.unshard_lookahead = "auto"}); },
               ErrorKind::value_error, "already-lowered");
}

// If this fails, a file means something else than in PyTorch.
TEST(PipelineLower, LoadsCsv) {
  const char* csv = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";
  EXPECT_EQ(load_csv(csv, "compute_only", two_by_two).rows(), lower(plain, two_by_two).rows());
  expect_error(
      [&] {
        load_csv(csv, "compute_comms", {3, 2, 2});
      },
      ErrorKind::assertion_error, "number of ranks");
  expect_error([&] { load_csv(csv, "other", two_by_two); }, ErrorKind::not_implemented_error,
               "not implemented");
}

// If this fails, a schedule of some class can't be run, or mixes up its messages.
TEST(PipelineLower, BuildsEachSchedule) {
  for (ScheduleClass schedule : schedule_classes()) {
    LoweredSchedule lowered = build_schedule(schedule, {3, is_single_stage(schedule) ? 1 : 2, 6});
    EXPECT_EQ(lowered.rows().size(), 3u);
    EXPECT_EQ(lowered.passes.size(), is_single_stage(schedule) ? 1u : 5u);
    if (!is_single_stage(schedule)) {
      EXPECT_TRUE(keeps_message_order(lowered.rows(), lowered.map));
    }
  }
  expect_error(
      [] {
        build_schedule(ScheduleClass::dual_pipe_v, {2, 2, 4}, {.max_active_stages = 1});
      },
      ErrorKind::value_error, "requires 2 stages");
  EXPECT_FALSE([] {
    LoweredSchedule zbv =
        build_schedule(ScheduleClass::zbv_zero_bubble, {2, 2, 4}, {.defer_pp_recv = true});
    return keeps_message_order(zbv.rows(), zbv.map);
  }());
}

}  // namespace
}  // namespace simmesh::pipeline
