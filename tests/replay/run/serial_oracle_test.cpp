#include "replay/run/serial_oracle.h"

#include <gtest/gtest.h>

#include "replay/run/replay_job.h"
#include "tests/replay/run/hand_job.h"
#include "tests/replay/run/recorded_jobs.h"

namespace simmesh::replay {

namespace {

// Would fail if any of the 64 collectives put out other bits than plain loops, or if a schedule
// changed them.
TEST(SerialOracle, AgreesWithEveryCollectiveOfDlrmUnderEverySchedule) {
  ReplayProgram program = testing::recorded_program("dlrm_pytorch_et.tar.gz");
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

}  // namespace

}  // namespace simmesh::replay
