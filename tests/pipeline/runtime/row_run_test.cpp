#include "pipeline/runtime/row_run.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"
#include "pipeline/runtime/single_stage_run.h"
#include "pipeline/runtime/stage_set.h"
#include "pipeline/runtime/step_run.h"
#include "pipeline/stage/event.h"
#include "tests/expect_error.h"
#include "tests/pipeline/small_pipeline.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;
using simmesh::testing::SmallPipeline;

// Two stages on one rank, whose rows are run.
struct OneRank {
  SmallPipeline small{.stages = 2, .microbatches = 1, .rows = 2};
  nn::ModulePtr modules[2] = {small.stage(0), small.stage(1)};
  PipelineStage first{*modules[0], {.stage_index = 0, .num_stages = 2}};
  PipelineStage last{*modules[1], {.stage_index = 1, .num_stages = 2}};
  StageSet stages{{&first, &last}, StageMap(std::vector<std::int64_t>{0, 0})};
  StepMicrobatches microbatches{{{{StepValue(small.input())}, {}}}, {small.target()}};
  LossFunction loss = SmallPipeline::loss;
  Keywords keywords;
  ShardedStages sharded;

  void run(const char* row) {
    StepRun step({stages, microbatches, loss, keywords});
    for (PipelineStage* stage : stages.local()) stage->begin_call(false);
    RowRun(stages, step, sharded, {1, true}).run(parse_row(row));
  }
};

// If this fails, a row that no schedule makes is run to a wrong end.
TEST(RowRun, RefusesRowsThatCantBeRun) {
  Outcome outcome = World({.ranks = 1}).run([](Rank&) {
    OneRank one;
    one.last.begin_inference();
    one.first.begin_inference();
    one.last.infer_forward(one.first.infer_forward({one.small.input()}, {}), {});
    one.run("0F0,,1F0");
    expect_error([&] { one.run("0F0,0WAIT_SEND_F0"); }, ErrorKind::assertion_error, "pending send");
    expect_error([&] { one.run("7F0"); }, ErrorKind::key_error, "got stage 7");
    EXPECT_FALSE(one.stages.crosses_ranks());
    EXPECT_EQ(one.stages.last(), &one.last);
    expect_error([] { StageSet({}, StageMap()); }, ErrorKind::value_error, "at least one stage");
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// If this fails, a step function leaves out a micro-batch or the loss.
TEST(SingleStageRun, RunsAllMicroBatches) {
  Outcome outcome = World({.ranks = 1}).run([](Rank&) {
    SmallPipeline small{.stages = 1, .microbatches = 2, .rows = 2};
    nn::ModulePtr module = small.stage(0);
    PipelineStage stage(*module, {.stage_index = 0, .num_stages = 1});
    StageSet stages({&stage}, StageMap(std::vector<std::int64_t>{0}));
    StepMicrobatches microbatches{
        {{{StepValue(small.input())}, {}}, {{StepValue(small.input())}, {}}},
        {small.target(), small.target()}};
    LossFunction loss = SmallPipeline::loss;
    Keywords none;
    StepRun step({stages, microbatches, loss, none});
    stage.begin_call(true);
    stage.set_divisor(2, {});
    run_single_stage_step(ScheduleClass::gpipe, stages, step, {2, true});
    EXPECT_TRUE(same_bits(step.losses()[0], step.losses()[1]));
    EXPECT_EQ(step.outputs()[1].size(), 1u);
    EXPECT_TRUE(grad_of(module->parameters()[0]).is_defined());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh::pipeline
