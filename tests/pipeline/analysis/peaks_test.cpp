#include "pipeline/analysis/peaks.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

#include "core/check/error.h"
#include "pipeline/analysis/liveness.h"
#include "pipeline/schedule/order.h"
#include "tests/pipeline/rows_of.h"

namespace simmesh::pipeline {
namespace {

// Peak of a rank by the formula of its schedule.
std::int64_t peak_by_formula(ScheduleClass schedule, const ScheduleShape& shape,
                             std::int64_t rank) {
  std::int64_t m = shape.microbatches, k = shape.stages_per_rank, hops = shape.ranks - 1 - rank;
  std::int64_t per_round = m / std::max<std::int64_t>(1, m / shape.ranks);
  switch (schedule) {
    case ScheduleClass::one_f_one_b: return std::min(m, shape.stages() - rank);
    case ScheduleClass::interleaved_1f1b:
      return std::min(m * k, std::min((k - 1) * per_round + 2 * hops, m * k) + 1);
    case ScheduleClass::interleaved_zero_bubble:
      return std::min(m * k, std::min((k - 1) * per_round + hops, m * k) + 1 + rank);
    case ScheduleClass::zbv_zero_bubble: return 2 * shape.ranks;
    case ScheduleClass::dual_pipe_v: return 2 * shape.ranks + 1;
    default: return m * k;
  }
}

// If this fails, a rank holds more activations than the schedule promises.
TEST(PipelinePeaks, AreThoseOfTheFormula) {
  for (ScheduleClass schedule : schedule_classes()) {
    for (std::int64_t ranks = 1; ranks <= 5; ++ranks) {
      ScheduleShape shape{ranks, is_single_stage(schedule) ? 1 : 2, 2 * ranks};
      Peaks peaks = activation_peaks(compute_order(schedule, shape), shape.stages());
      for (std::int64_t rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(peaks.by_rank[std::size_t(rank)], peak_by_formula(schedule, shape, rank))
            << to_string(schedule) << " on " << ranks << " ranks, rank " << rank;
    }
  }
}

// Returns a shape that the schedule takes and whose peak the formula gives.
ScheduleShape random_shape(ScheduleClass schedule, std::mt19937_64& random) {
  auto below = [&](std::uint64_t most) { return std::int64_t(random() % most) + 1; };
  while (true) {
    bool is_v =
        schedule == ScheduleClass::zbv_zero_bubble || schedule == ScheduleClass::dual_pipe_v;
    std::int64_t per_rank = is_single_stage(schedule) ? 1 : is_v ? 2 : below(4);
    ScheduleShape shape{below(8), per_rank, below(24)};
    // The formulas of the V schedules hold once the pipeline is full.
    if (is_v && shape.microbatches < 2 * shape.ranks) continue;
    try {
      validate_shape(schedule, shape);
      return shape;
    } catch (const Error&) {
    }
  }
}

// If this fails, the peak of a schedule isn't the formula's, or liveness needs another number of
// slots.
TEST(PipelinePeaks, AreTheFormulasAndTheSlotsOfRandomShapes) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 500; ++trial) {
    ScheduleClass schedule = schedule_classes()[std::size_t(trial) % schedule_classes().size()];
    ScheduleShape shape = random_shape(schedule, random);
    Rows order = compute_order(schedule, shape);
    Peaks peaks = activation_peaks(order, shape.stages());
    StageMap map = stage_map_of(schedule, shape);
    for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
      std::int64_t peak = peaks.by_rank[std::size_t(rank)];
      EXPECT_EQ(peak, peak_by_formula(schedule, shape, rank))
          << to_string(schedule) << " " << shape.ranks << " " << shape.stages_per_rank << " "
          << shape.microbatches;
      if (schedule == ScheduleClass::forward_only) continue;
      auto liveness =
          analyze_activation_liveness(order[std::size_t(rank)], map.stages_of(rank),
                                      shape.microbatches, LivenessGranularity::stage_microbatch);
      // A compound action has one place for its parts, the forward and the backward.
      bool is_compound = schedule == ScheduleClass::dual_pipe_v;
      EXPECT_TRUE(liveness.slots == peak || (is_compound && liveness.slots == peak + 1))
          << to_string(schedule) << ": " << liveness.slots << " slots for a peak of " << peak;
    }
  }
}

// If this fails, activations of one stage count for another, or I frees them.
TEST(PipelinePeaks, CountByStage) {
  Peaks peaks = activation_peaks(
      simmesh::testing::rows_of({"0F0,0F1,2F0,0I0,2F1,(2F2;0B0)OVERLAP_F_B,2W0", "1F0,1B0"}), 3);
  EXPECT_EQ(peaks.by_stage, (std::vector<std::int64_t>{2, 1, 3}));
  EXPECT_EQ(peaks.by_rank, (std::vector<std::int64_t>{5, 1}));
}

}  // namespace
}  // namespace simmesh::pipeline
