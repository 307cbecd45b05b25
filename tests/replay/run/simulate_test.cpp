#include "replay/run/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/analysis/exposed.h"
#include "replay/run/replay_job.h"
#include "tests/replay/run/all_kinds_job.h"
#include "tests/replay/run/hand_job.h"
#include "tests/replay/run/recorded_jobs.h"

namespace simmesh::replay {

namespace {

std::vector<samples::HandTensor> simulated_tensor(std::int64_t storage, std::int64_t elements) {
  return {{.storage = storage, .elements = elements}};
}

// A sum that runs beside an operator, and one that is waited for at once.
samples::HandJob overlapping_job() {
  samples::HandJob job(2);
  auto a = simulated_tensor(1, 100), b = simulated_tensor(2, 100);
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    job.comm(rank, {.name = "allreduce", .request = 1, .inputs = a, .outputs = a});
    job.op(rank, "aten::relu", b, b);
    job.comm(rank, {.name = "wait", .request = 1, .group = {}});
    job.comm(rank, {.name = "allreduce", .request = 2, .inputs = b, .outputs = b});
  }
  return job;
}

// Would fail if overlap, waiting for late ranks, or exposure were computed otherwise than by hand.
TEST(Simulate, OverlapsWhatTheProgramOverlaps) {
  ReplayProgram program = overlapping_job().program();
  RankCosts first{.before_us = {10, 0, 0, 0}, .us = {20, 5, 0, 3}, .after_us = 2};
  RankCosts second{.begin_us = 1, .before_us = {4, 0, 0, 0}, .us = {20, 50, 0, 3}};
  SimulatedJob job = simulate(program, meetings_of(program), {first, second});
  ASSERT_TRUE(job.is_complete());
  // The first sum runs from 10 to 30. Rank 1 computes to 55, and both end the second sum at 58.
  EXPECT_EQ(job.step_us(0), 60);
  EXPECT_EQ(job.step_us(1), 57);
  EXPECT_EQ(job.reports[0].exposed_communication_us, 15 + 28);
  EXPECT_EQ(job.reports[1].exposed_communication_us, 3);
  const RankTimeline& rank = job.timeline.ranks[0];
  ASSERT_EQ(rank.comms.size(), 2u);
  EXPECT_EQ(rank.span_of(rank.comms[0]).begin_us, 10);
  EXPECT_EQ(rank.span_of(rank.comms[0]).end_us, 30);
  EXPECT_EQ(rank.span_of(rank.comms[1]).begin_us, 30);
  EXPECT_EQ(rank.span_of(rank.comms[1]).end_us, 58);
  EXPECT_EQ(rank.span_of(rank.comms[1]).bytes, 400);
  EXPECT_EQ(rank.tracks.size(), 2u);
  RankBusy busy = busy_of(rank);
  EXPECT_EQ(busy.exposed_us, 15 + 28);
  EXPECT_EQ(busy.compute_us, 10 + 5 + 2);
}

// Would fail if the simulation of a program and the devices of a World that runs it disagreed.
TEST(Simulate, AgreesWithTheDevicesOfAWorld) {
  samples::HandJob job(4, {{0, 2}, {1, 3}});
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    auto a = simulated_tensor(1, 4000), b = simulated_tensor(2, 16000);
    auto c = simulated_tensor(3, 100000 * (rank + 1));
    std::uint32_t pair = 1 + std::uint32_t(rank % 2);
    job.op(rank, "aten::relu", c, c);
    job.comm(rank, {.name = "allreduce", .request = 1, .inputs = b, .outputs = b});
    job.comm(rank, {.name = "_allgather_base", .request = 2, .inputs = a, .outputs = b});
    job.op(rank, "aten::relu", c, c);
    job.comm(rank, {.name = "allreduce",
                    .request = 3,
                    .inputs = a,
                    .outputs = a,
                    .group = pair,
                    .is_asynchronous = true});
    job.comm(rank, {.name = "wait", .request = 2, .group = {}});
    job.comm(rank, {.name = "send", .request = 4, .inputs = a, .rank = (rank + 1) % 4});
    job.comm(rank, {.name = "recv", .request = 5, .outputs = a, .rank = (rank + 3) % 4});
    job.op(rank, "aten::relu", a, a);
    job.comm(rank, {.name = "irecv",
                    .request = 6,
                    .outputs = a,
                    .rank = (rank + 1) % 4,
                    .is_asynchronous = true});
    job.comm(rank, {.name = "isend",
                    .request = 7,
                    .inputs = a,
                    .rank = (rank + 3) % 4,
                    .is_asynchronous = true});
    job.op(rank, "aten::relu", c, c);
    job.comm(rank, {.name = "all_to_all", .request = 8, .inputs = b, .outputs = b});
    job.comm(rank, {.name = "barrier", .request = 9});
  }
  ReplayProgram program = job.program();
  JobMeetings meetings = meetings_of(program);
  DeviceModel model{.topology = {.devices_per_host = 2}};
  SimulatedJob simulated = simulate(program, meetings, modelled_costs(program, meetings, model));
  ASSERT_TRUE(simulated.is_complete());
  double longest_us = 0;
  for (std::size_t rank = 0; rank < 4; ++rank)
    longest_us = std::max(longest_us, simulated.step_us(rank));
  double barrier_us = model.topology.all_reduce_us(0, 4, model.topology.link_among(0, 3));
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"}) {
    ReplayJobOptions options;
    options.world.device = model;
    options.world.schedule = Schedule::parse(schedule);
    JobReplay replay = replay_job(program, options);
    ASSERT_TRUE(replay.outcome.ok()) << report(replay.outcome);
    // The World's ranks meet before and after. Fewer than 100 additions of times below 2^11 us
    // round by at most 100 * 2^-42 us.
    for (const DeviceReport& device : replay.outcome.devices)
      EXPECT_NEAR(device.makespan_us, longest_us + 2 * barrier_us, 100 * 0x1p-42);
  }
}

// Would fail if a job that hangs seemed to end.
TEST(Simulate, SaysWhereAJobNeverEnds) {
  auto a = simulated_tensor(1, 4);
  for (const char* name : {"allreduce", "recv"}) {
    samples::HandJob job(2);
    job.comm(0, {.name = name, .inputs = a, .outputs = a, .rank = 1});
    ReplayProgram program = job.program();
    JobMeetings meetings = meetings_of(program);
    SimulatedJob simulated = simulate(program, meetings, modelled_costs(program, meetings));
    EXPECT_FALSE(simulated.is_complete()) << name;
    EXPECT_FALSE(simulated.reports[0].is_complete);
    EXPECT_TRUE(simulated.reports[1].is_complete);
  }
}

// Would fail if a kind of communication had no span, or nobody could tell which it is.
TEST(Simulate, GivesEveryCommunicationASpan) {
  for (bool is_asynchronous : {false, true}) {
    samples::AllKinds kinds(3, "float", 4, is_asynchronous);
    ReplayProgram program = kinds.job().program();
    JobMeetings meetings = meetings_of(program);
    SimulatedJob job = simulate(program, meetings, modelled_costs(program, meetings));
    ASSERT_TRUE(job.is_complete());
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const RankTimeline& timeline = job.timeline.ranks[rank];
      EXPECT_EQ(timeline.comms.size(), program.ranks[rank].communications);
      for (const TimelineComm& comm : timeline.comms)
        EXPECT_EQ(comm.peer >= 0, comm.name == "send" || comm.name == "recv") << comm.name;
    }
  }
}

// Would fail if the real job's uneven exchange were not told from even ones.
TEST(Simulate, DlrmHasItsCollectives) {
  ReplayProgram program = samples::recorded_program("dlrm_pytorch_et.tar.gz");
  JobMeetings meetings = meetings_of(program);
  SimulatedJob job = simulate(program, meetings, modelled_costs(program, meetings));
  ASSERT_TRUE(job.is_complete());
  EXPECT_EQ(job.timeline.world_size, 8);
  for (const RankTimeline& rank : job.timeline.ranks) {
    ASSERT_EQ(rank.comms.size(), 8u);
    EXPECT_EQ(rank.comms[3].name, "all_to_allv");
    EXPECT_EQ(rank.comms[3].in_elements, 3392);
    EXPECT_EQ(rank.comms[3].in_split[3], 1664);
    EXPECT_EQ(rank.comms[3].item_bytes, 4);
    EXPECT_EQ(rank.comms[3].group_size, 8);
  }
}

}  // namespace

}  // namespace simmesh::replay
