#include "verify/pipeline/run_train.h"

#include <fstream>
#include <gtest/gtest.h>

#include "core/engine/world.h"

namespace simmesh {
namespace {

// If this fails, steps of a program aren't run, or their results aren't kept.
TEST(PipelineRank, KeepsWhatEachStepDoes) {
  std::ifstream file(std::string(SIMMESH_SOURCE_DIR) + "/tests/cases/pipeline/train_exact.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  PipelineCase plan = read_pipeline_case(RecordedCase::parse(line, {.file = "a"}));
  World world({.ranks = std::size_t(plan.world)});
  Outcome outcome = world.run([&](Rank& rank) {
    PipelineRank pipeline(plan, rank, true);
    pipeline.build();
    pipeline.make_schedule();
    PipelineRecord record;
    for (const PipelineStep& step : plan.program) record.steps.push_back(pipeline.run(step));
    pipeline.finish(record);
    EXPECT_FALSE(record.steps[0].events.empty());
    EXPECT_FALSE(record.final.empty());
    std::int64_t pp_rank = std::int64_t(rank.id()) / plan.data_ranks;
    EXPECT_EQ(record.peak_states.size(), plan.stages_on(pp_rank).size());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
