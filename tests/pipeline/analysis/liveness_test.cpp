#include "pipeline/analysis/liveness.h"

#include <gtest/gtest.h>

#include "pipeline/analysis/peaks.h"
#include "pipeline/lowering/lower.h"
#include "tests/expect_error.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;
using enum LivenessGranularity;

std::vector<std::int64_t> slots_of(const ActivationLiveness& liveness) {
  std::vector<std::int64_t> slots;
  for (const ActivationLifetime& lifetime : liveness.lifetimes) slots.push_back(lifetime.slot);
  return slots;
}

// If this fails, two activations that live at once share a slot, or a free slot isn't used.
TEST(PipelineLiveness, GivesTheLowestFreeSlot) {
  Row row = parse_row("0F0,1F0,1I0,1W0,0F1,(1F1;0B0)OVERLAP_F_B,0B1,1B1");
  ActivationLiveness apart = analyze_activation_liveness(row, {1, 0}, 2, stage_microbatch);
  EXPECT_EQ(apart.slots, 3);
  EXPECT_EQ(slots_of(apart), (std::vector<std::int64_t>{0, 1, 1, 2}));
  EXPECT_EQ(apart.lifetimes[2].first, 1);
  EXPECT_EQ(apart.lifetimes[2].last, 3);
  ActivationLiveness shared = analyze_activation_liveness(row, {0, 1}, 2, microbatch);
  EXPECT_EQ(shared.slots, 2);
  EXPECT_EQ(slots_of(shared), (std::vector<std::int64_t>{0, 1, 0, 1}));
  EXPECT_EQ(shared.lifetimes[3].first, 4);
}

// If this fails, an activation is freed too early or never, and nobody notices.
TEST(PipelineLiveness, RefusesRowsWithoutWholeLifetimes) {
  auto refused = [](const char* row, const char* phrase) {
    expect_error([&] { analyze_activation_liveness(parse_row(row), {0}, 1, stage_microbatch); },
                 ErrorKind::value_error, phrase);
  };
  refused("0B0", "Forward actions do not match tracked activations: (0, 0)");
  refused("0F0", "Backward release actions do not match");
  refused("0F0,0F0,0B0", "(0, 0) has multiple forwards");
  refused("0F0,0B0,0B0", "multiple release actions");
  refused("0F0,0I0,0I0,0W0", "multiple input backwards");
  refused("0F0,0W0", "without input backward");
  refused("0B0,0F0", "ends before its forward");
  refused("0F1", "0F1 has a microbatch outside [0, 1)");
  refused("0F", "no microbatch index");
  expect_error([] { analyze_activation_liveness({}, {}, 1, microbatch); }, ErrorKind::value_error,
               "must not be empty");
  expect_error(
      [] {
        analyze_activation_liveness({}, {1, 1}, 1, microbatch);
      },
      ErrorKind::value_error, "must be unique");
  expect_error([] { liveness_granularity_from_string("stage"); }, ErrorKind::value_error,
               "Unsupported activation granularity");
}

// If this fails, slots and peaks tell two stories: an activation has a slot exactly while it lives.
TEST(PipelineLiveness, NeedsAsManySlotsAsForwardsAreInFlight) {
  for (ScheduleClass schedule : schedule_classes()) {
    if (is_single_stage(schedule)) continue;
    for (std::int64_t ranks = 1; ranks <= 4; ++ranks) {
      ScheduleShape shape{ranks, 2, 3 * ranks};
      LoweredSchedule lowered = build_schedule(schedule, shape);
      Peaks peaks = activation_peaks(lowered.rows(), shape.stages());
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        auto liveness = analyze_activation_liveness(lowered.rows()[std::size_t(rank)],
                                                    lowered.map.stages_of(rank), shape.microbatches,
                                                    stage_microbatch);
        EXPECT_EQ(liveness.slots, peaks.by_rank[std::size_t(rank)]) << to_string(schedule);
      }
    }
  }
}

}  // namespace
}  // namespace simmesh::pipeline
