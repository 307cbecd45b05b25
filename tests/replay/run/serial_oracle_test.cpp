#include "replay/run/serial_oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/run/replay_job.h"
#include "tests/replay/run/all_kinds_job.h"
#include "tests/replay/run/every_replay.h"
#include "tests/replay/run/recorded_jobs.h"

namespace simmesh::replay {

namespace {

// Would fail if any of the 64 collectives put out other bits than plain loops, or if a schedule
// changed them.
TEST(SerialOracle, AgreesWithEveryCollectiveOfDlrmUnderEverySchedule) {
  ReplayProgram program = samples::recorded_program("dlrm_pytorch_et.tar.gz");
  ASSERT_EQ(program.ranks.size(), 8u);
  JobMeetings meetings = meetings_of(program);
  ASSERT_EQ(meetings.collectives.size(), 8u);
  auto expected = serial_oracle(program, meetings, {.keeps_outputs = true});
  std::vector<std::string> schedules = {"fifo", "pct:3"};
  for (int seed = 0; seed < 100; ++seed) schedules.push_back("seeded:" + std::to_string(seed));
  std::optional<std::uint64_t> data_hash;
  for (const std::string& schedule : schedules) {
    ReplayJobOptions options;
    options.world.schedule = Schedule::parse(schedule);
    options.run.keeps_outputs = schedule == "fifo";
    JobReplay replay = replay_job(program, options);
    ASSERT_TRUE(replay.outcome.ok()) << report(replay.outcome);
    std::size_t compared = 0;
    EXPECT_EQ(differences(program, expected, replay.outputs, &compared),
              std::vector<std::string>());
    EXPECT_EQ(compared, 64u);
    if (!data_hash) data_hash = replay.outcome.data_hash;
    EXPECT_EQ(replay.outcome.data_hash, *data_hash) << schedule;
  }
}

// Would fail if sub-groups, two groups of the same members, asynchronous sums, rooted operations,
// or the ring of messages were replayed wrongly.
TEST(SerialOracle, AgreesWithTheGeneratedJobOfFourRanks) {
  ReplayProgram program = samples::recorded_program("generated/comms4");
  ASSERT_EQ(program.ranks.size(), 4u);
  EXPECT_EQ(program.warnings.size(), 0u);
  std::size_t puts_out = 0;
  for (const RankProgram& rank : program.ranks) {
    EXPECT_EQ(rank.dangling_waits, 0u);
    EXPECT_EQ(rank.never_waited_for, 0u);
    for (const ProgramStep& step : rank.steps) {
      bool is_rooted = step.comm == CommKind::reduce || step.comm == CommKind::gather;
      if (has_data(step.comm) && step.comm != CommKind::send)
        puts_out += !is_rooted || step.member == step.root ? 1 : 0;
    }
  }
  EXPECT_EQ(samples::expect_replays(program), puts_out);
  EXPECT_GT(puts_out, 80u);
}

// Would fail if the comparison were blind to a wrong byte, a wrong hash or a missing output.
TEST(SerialOracle, DifferencesNameRankNodeAndByte) {
  samples::AllKinds kinds(2, "float", 4);
  ReplayProgram program = kinds.job().program();
  auto expected = serial_oracle(program, meetings_of(program), {.keeps_outputs = true});
  auto outputs = expected;
  EXPECT_TRUE(differences(program, expected, outputs).empty());
  outputs[1][0].bytes[0][3] ^= std::byte(1);
  auto lines = differences(program, expected, outputs);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], ::testing::HasSubstr("rank 1 node 2 allreduce: output 0: byte 3 of 20"));
  outputs = expected;
  outputs[0][1].hash ^= 1;
  outputs[0][1].bytes.clear();
  outputs[1].pop_back();
  lines = differences(program, expected, outputs);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], ::testing::HasSubstr("hash"));
  EXPECT_THAT(lines[1], ::testing::HasSubstr("has put out nothing"));
}

// Would fail if the oracle answered for collectives that can't take place.
TEST(SerialOracle, HasNoAnswerForWhatDoesntFit) {
  samples::HandJob job(2);
  std::vector<samples::HandTensor> three = {{.storage = 1, .elements = 3}};
  std::vector<samples::HandTensor> four = {{.storage = 1, .elements = 4}};
  job.comm(0, {.name = "allreduce", .inputs = three, .outputs = three});
  job.comm(1, {.name = "allreduce", .inputs = four, .outputs = four});
  job.comm(0, {.name = "broadcast", .inputs = three, .outputs = three, .rank = 5});
  job.comm(1, {.name = "broadcast", .inputs = three, .outputs = three, .rank = 5});
  job.comm(0, {.name = "recv", .inputs = three, .outputs = three, .rank = 1});
  job.comm(1, {.name = "barrier"});
  ReplayProgram program = job.program();
  for (const auto& rank : serial_oracle(program, meetings_of(program))) EXPECT_TRUE(rank.empty());
}

}  // namespace

}  // namespace simmesh::replay
