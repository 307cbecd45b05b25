#include "pipeline/runtime/schedule.h"

#include <gtest/gtest.h>

#include "core/engine/explore.h"
#include "pipeline/lowering/lower.h"
#include "pipeline/schedule/csv.h"
#include "tests/every_schedule.h"
#include "tests/expect_error.h"
#include "tests/pipeline/small_pipeline.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::difference_of;
using simmesh::testing::expect_error;
using simmesh::testing::gradients_of_one_device;
using simmesh::testing::local_pipeline;
using simmesh::testing::LocalPipeline;
using simmesh::testing::SmallPipeline;

SmallPipeline pipeline_for(ScheduleClass schedule, std::int64_t ranks, std::int64_t microbatches) {
  std::int64_t per_rank = is_single_stage(schedule) ? 1 : 2;
  return {.stages = ranks * per_rank, .microbatches = microbatches, .rows = 2 * microbatches};
}

bool takes(ScheduleClass schedule, std::int64_t ranks, std::int64_t microbatches) {
  try {
    validate_shape(schedule, {.ranks = ranks,
                              .stages_per_rank = is_single_stage(schedule) ? 1 : 2,
                              .microbatches = microbatches});
  } catch (const Error&) {
    return false;
  }
  return schedule != ScheduleClass::forward_only;
}

// If this fails, a schedule trains another model than one device does, on some order of events.
TEST(PipelineSchedule, TrainsAsOneDeviceInAnyOrderOfEvents) {
  for (ScheduleClass schedule : schedule_classes()) {
    if (!takes(schedule, 2, 4)) continue;
    SmallPipeline small = pipeline_for(schedule, 2, 4);
    auto expected = gradients_of_one_device(small);
    run_every_schedule(2, [&](Rank& rank) {
      LocalPipeline local = local_pipeline(small, schedule, rank, 2);
      local.schedule().step(local.inputs());
      EXPECT_EQ(difference_of(local.gradients(), expected), "") << to_string(schedule);
    });
  }
}

// If this fails, some order of events of a small pipeline deadlocks or gives other bits.
TEST(PipelineSchedule, IsTheSameInAllOrdersOfSmallPipelines) {
  for (ScheduleClass schedule : schedule_classes()) {
    for (std::int64_t ranks = 2; ranks <= 4; ++ranks) {
      for (std::int64_t microbatches = 2; microbatches <= 4; ++microbatches) {
        if (!takes(schedule, ranks, microbatches)) continue;
        SmallPipeline small = pipeline_for(schedule, ranks, microbatches);
        auto expected = gradients_of_one_device(small);
        Exploration found = explore({.ranks = std::size_t(ranks)}, [&](Rank& rank) {
          LocalPipeline local = local_pipeline(small, schedule, rank, ranks);
          local.schedule().step(local.inputs());
          std::string difference = difference_of(local.gradients(), expected);
          SIMMESH_CHECK(difference.empty(), "other gradients: {}", difference);
        });
        EXPECT_TRUE(found.ok()) << to_string(schedule) << " " << ranks << " " << microbatches
                                << (found.first_failure ? report(*found.first_failure) : "");
      }
    }
  }
}

// If this fails, gradients of earlier calls are divided again, or eval changes gradients.
TEST(PipelineSchedule, DividesOnlyTheGradientsOfItsCall) {
  for (ScheduleClass schedule : {ScheduleClass::gpipe, ScheduleClass::zbv_zero_bubble}) {
    SmallPipeline small = pipeline_for(schedule, 2, 4);
    auto expected = gradients_of_one_device(small, 2);
    run_every_schedule(2, [&](Rank& rank) {
      LocalPipeline local = local_pipeline(small, schedule, rank, 2);
      local.schedule().step(local.inputs(1));
      local.schedule().eval(local.inputs(5));
      local.schedule().step(local.inputs(2));
      EXPECT_EQ(difference_of(local.gradients(), expected), "") << to_string(schedule);
    });
  }
}

// If this fails, receives that are posted in another order than the sends get each other's data.
TEST(PipelineSchedule, MatchesMessagesWhateverTheirOrder) {
  ScheduleOptions deferred{.defer_pp_recv = true};
  SmallPipeline small = pipeline_for(ScheduleClass::zbv_zero_bubble, 3, 6);
  auto expected = gradients_of_one_device(small);
  run_every_schedule(3, [&](Rank& rank) {
    LocalPipeline local = local_pipeline(small, ScheduleClass::zbv_zero_bubble, rank, 3, deferred);
    local.schedule().step(local.inputs());
    EXPECT_EQ(difference_of(local.gradients(), expected), "");
  });
}

// If this fails, micro-batches must have one shape, now and in later calls.
TEST(PipelineSchedule, TakesMicroBatchesOfAnySize) {
  for (ScheduleClass schedule : {ScheduleClass::one_f_one_b, ScheduleClass::interleaved_1f1b}) {
    SmallPipeline small = pipeline_for(schedule, 2, 4);
    small.rows = 7;
    auto expected = gradients_of_one_device(small);
    run_every_schedule(2, [&](Rank& rank) {
      LocalPipeline local = local_pipeline(small, schedule, rank, 2);
      local.schedule().step(local.inputs());
      EXPECT_EQ(difference_of(local.gradients(), expected), "") << to_string(schedule);
    });
  }
}

// If this fails, buffered sends change results, or a wait for one blocks.
TEST(PipelineSchedule, RunsWithBufferedSends) {
  SmallPipeline small = pipeline_for(ScheduleClass::interleaved_1f1b, 2, 4);
  auto expected = gradients_of_one_device(small);
  run_every_schedule(2, [&](Rank& rank) {
    ScheduleSettings settings = small.settings();
    settings.sends = SendMode::buffered;
    std::int64_t id = std::int64_t(rank.id());
    LocalPipeline local(small, {id, id + 2}, [&](const std::vector<PipelineStage*>& stages) {
      return PipelineSchedule(ScheduleClass::interleaved_1f1b, stages, settings);
    });
    local.schedule().step(local.inputs());
    EXPECT_EQ(difference_of(local.gradients(), expected), "");
  });
}

// If this fails, a schedule from a file isn't run, or losses are those of other micro-batches.
TEST(PipelineSchedule, RunsFilesAndKeepsLossesByMicroBatch) {
  const char* csv = "0F1,0F0,0B1,0B0\n1F1,1F0,1B0,1B1\n";
  SmallPipeline small{.stages = 2, .microbatches = 2, .rows = 4};
  auto expected = gradients_of_one_device(small);
  run_every_schedule(2, [&](Rank& rank) {
    LocalPipeline local(
        small, {std::int64_t(rank.id())}, [&](const std::vector<PipelineStage*>& stages) {
          return PipelineSchedule::from_csv(csv, "compute_only", stages, small.settings());
        });
    nn::Tensors output = local.schedule().step(local.inputs());
    EXPECT_EQ(difference_of(local.gradients(), expected), "");
    if (rank.id() == 0) return;
    Tensor first = output[0].narrow({.dim = 0, .start = 0, .length = 2});
    Tensor target = small.target(1).narrow({.dim = 0, .start = 0, .length = 2});
    EXPECT_EQ(sum(mul(first, target)).values<double>()[0], local.losses()[0].values<double>()[0]);
  });
}

// If this fails, a call without gradients trains nothing and says nothing.
TEST(PipelineSchedule, RefusesStepsWithoutGradients) {
  World({.ranks = 1}).run([](Rank& rank) {
    SmallPipeline small{.stages = 1, .microbatches = 2};
    LocalPipeline local = local_pipeline(small, ScheduleClass::gpipe, rank, 1);
    NoGrad unrecorded;
    expect_error([&] { local.schedule().step(local.inputs()); }, ErrorKind::runtime_error, "eval");
    EXPECT_EQ(local.schedule().eval(local.inputs()).size(), 1u);
  });
}

}  // namespace
}  // namespace simmesh::pipeline
