#include "replay/run/replay_job.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/job/missing_ranks.h"
#include "tests/expect_error.h"
#include "tests/replay/run/all_kinds_job.h"
#include "tests/replay/run/every_replay.h"
#include "tests/replay/run/recorded_jobs.h"

namespace simmesh::replay {

namespace {

ReplayProgram resnet_of_two(const ProgramOptions& options) {
  std::vector<std::string> paths = {SIMMESH_SOURCE_DIR
                                    "/tests/cases/replay/resnet_2gpu_et.1.1.0.json.gz"};
  TraceJob job = read_job(paths);
  fill_missing_ranks(job);
  Findings findings;
  return make_program(job, resolve_groups(job, findings), options);
}

// Would fail if a rank that is made up didn't fit the one that was recorded, or if the step's
// broadcasts and gradient buckets were summed wrongly.
TEST(ReplayJobRun, ResNetWithItsSecondRank) {
  ReplayProgram program = resnet_of_two({.steps = {1}});
  ASSERT_EQ(program.ranks.size(), 2u);
  EXPECT_EQ(program.ranks[0].communications, 7u);
  auto expected = serial_oracle(program, meetings_of(program));
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"}) {
    ReplayJobOptions options;
    options.world.schedule = Schedule::parse(schedule);
    JobReplay replay = replay_job(program, options);
    ASSERT_TRUE(replay.outcome.ok()) << report(replay.outcome);
    std::size_t compared = 0;
    EXPECT_EQ(differences(program, expected, replay.outputs, &compared),
              std::vector<std::string>());
    EXPECT_EQ(compared, 14u);
  }
}

// Would fail if a world of shapes only had another schedule, or other memory, than one with data.
TEST(ReplayJobRun, ShapesOnlyHasTheSameFigures) {
  for (const ReplayProgram& program :
       {resnet_of_two({.steps = {1}}), samples::recorded_program("generated/comms4"),
        samples::AllKinds(3, "float", 4, true).job().program()}) {
    for (Allocation allocation : {Allocation::pre, Allocation::lazy}) {
      ReplayJobOptions options;
      options.run.allocation = allocation;
      JobReplay with_data = replay_job(program, options);
      options.data_bytes_max = 0;
      JobReplay shapes = replay_job(program, options);
      ASSERT_TRUE(shapes.outcome.ok()) << report(shapes.outcome);
      EXPECT_TRUE(shapes.outcome.shapes_only);
      EXPECT_FALSE(with_data.outcome.shapes_only);
      EXPECT_EQ(shapes.outcome.peak_bytes, with_data.outcome.peak_bytes);
      EXPECT_EQ(shapes.outcome.schedule_hash, with_data.outcome.schedule_hash);
      for (const auto& rank : shapes.outputs) EXPECT_TRUE(rank.empty());
    }
  }
}

// Would fail if only the collectives of a job, or only its memory, could be replayed.
TEST(ReplayJobRun, WithAndWithoutComputation) {
  ReplayProgram whole = samples::recorded_program("dlrm_pytorch_et.tar.gz");
  ReplayProgram comms = samples::recorded_program("dlrm_pytorch_et.tar.gz", {.computes = false});
  JobReplay both = replay_job(whole), without = replay_job(comms);
  ASSERT_TRUE(both.outcome.ok() && without.outcome.ok());
  EXPECT_GT(both.outcome.peak_bytes, std::int64_t(4) << 30);
  EXPECT_LT(without.outcome.peak_bytes, std::int64_t(16) << 20);
  EXPECT_LT(both.outcome.physical_peak_bytes, std::int64_t(1) << 30);
}

// Would fail if any broken job crashed, hung or went through as if it were sound.
TEST(ReplayJobRun, BrokenJobsEndWithAReport) {
  std::map<std::string, std::string> phrases = {{"order_differs", "the operations differ"},
                                                {"root_differs", "the roots differ"},
                                                {"one_more", "deadlock"},
                                                {"all_gather_size", "elements"},
                                                {"send_without_recv", "deadlock"},
                                                {"split_length", "split"}};
  std::size_t found = 0, ran = 0;
  std::filesystem::path folder = SIMMESH_SOURCE_DIR "/tests/cases/replay/trace_bad";
  for (const auto& job : std::filesystem::directory_iterator(folder)) {
    std::string name = job.path().filename().string();
    std::optional<ReplayProgram> program;
    try {
      program = samples::recorded_program("trace_bad/" + name);
    } catch (const Error&) {
      EXPECT_FALSE(phrases.contains(name)) << name;
      continue;
    }
    // There is nothing to replay of a job none of whose traces can be read.
    if (program->ranks.empty()) continue;
    JobReplay replay = replay_job(*program);
    ++ran;
    if (!phrases.contains(name)) continue;
    ++found;
    EXPECT_FALSE(replay.outcome.ok()) << name;
    EXPECT_THAT(report(replay.outcome), ::testing::HasSubstr(phrases.at(name))) << name;
  }
  EXPECT_EQ(found, phrases.size());
  EXPECT_GT(ran, phrases.size());
}

TEST(ReplayJobRun, RefusesNegativeIterations) {
  ReplayProgram program = samples::HandJob(1).program();
  ReplayJobOptions options;
  options.run.iterations = -1;
  simmesh::testing::expect_error([&] { replay_job(program, options); }, ErrorKind::value_error,
                                 "got 0 for warm-up and -1");
}

}  // namespace

}  // namespace simmesh::replay
