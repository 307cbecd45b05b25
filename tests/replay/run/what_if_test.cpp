#include "replay/run/what_if.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/run/fit_links.h"
#include "tests/expect_error.h"
#include "tests/replay/analysis/hand_timeline.h"
#include "tests/replay/run/hand_job.h"
#include "tests/replay/run/recorded_jobs.h"

namespace simmesh::replay {

namespace {

std::vector<samples::HandTensor> changed_tensor() { return {{.storage = 1, .elements = 1 << 20}}; }

void add_sum(samples::HandJob& job, std::int64_t rank, std::uint32_t group = 0) {
  job.comm(rank, {.name = "allreduce",
                  .inputs = changed_tensor(),
                  .outputs = changed_tensor(),
                  .group = group});
}

RankCosts segments(std::vector<double> before_us, double sum_us) {
  std::vector<double> us(before_us.size(), sum_us);
  return {.before_us = std::move(before_us), .us = std::move(us)};
}

struct Changed {
  samples::HandJob job;
  JobCosts costs;

  WhatIfTimes by(const WhatIf& change, const Topology& topology = {}) const {
    ReplayProgram program = job.program();
    return what_if(program, meetings_of(program), costs, topology, change);
  }
};

Changed two_sums() {
  samples::HandJob job(2);
  for (std::int64_t rank : {0, 0, 1, 1}) add_sum(job, rank);
  return {std::move(job), {segments({10, 5}, 3), segments({4, 20}, 3)}};
}

// Would fail if nothing that changes changed a time.
TEST(WhatIf, NothingChangesNothing) {
  WhatIfTimes times = two_sums().by({});
  EXPECT_EQ(times.before.step_us, 36);
  EXPECT_EQ(times.after.step_us, 36);
  EXPECT_EQ(times.before.exposed_us, 3 + 18);
  EXPECT_EQ(times.ranks[1].before.exposed_us, 9 + 3);
  EXPECT_EQ(times.ranks[1].after.exposed_us, 9 + 3);
}

// Would fail if a rank still waited for another one, or if anything but lateness were taken away.
TEST(WhatIf, PerfectArrivalTakesTheWaitingAway) {
  WhatIfTimes times = two_sums().by({.perfect_arrival = true});
  EXPECT_THAT(times.costs[0].before_us, ::testing::ElementsAre(4, 5));
  EXPECT_THAT(times.costs[1].before_us, ::testing::ElementsAre(4, 5));
  EXPECT_EQ(times.after.step_us, 4 + 3 + 5 + 3);
  EXPECT_EQ(times.after.exposed_us, 6);
}

// Would fail if lateness that comes from another group were taken away twice.
TEST(WhatIf, PerfectArrivalGoesFromGroupToGroup) {
  samples::HandJob job(3, {{0, 1}, {1, 2}});
  add_sum(job, 0, 1);
  add_sum(job, 1, 1);
  add_sum(job, 1, 2);
  add_sum(job, 2, 2);
  Changed changed{std::move(job), {segments({30}, 5), segments({10, 4}, 5), segments({25}, 5)}};
  WhatIfTimes times = changed.by({.perfect_arrival = true});
  // The first sum begins at 10 instead of 30, so rank 1 comes to the second one at 19, and rank 2
  // comes 6 us late.
  EXPECT_THAT(times.costs[0].before_us, ::testing::ElementsAre(10));
  EXPECT_THAT(times.costs[1].before_us, ::testing::ElementsAre(10, 4));
  EXPECT_THAT(times.costs[2].before_us, ::testing::ElementsAre(19));
  EXPECT_EQ(times.after.step_us, 24);
}

TEST(WhatIf, PerfectArrivalLetsRanksBeginTogether) {
  Changed changed = two_sums();
  changed.costs[1].begin_us = 50;
  WhatIfTimes times = changed.by({.perfect_arrival = true});
  EXPECT_EQ(times.costs[1].begin_us, 6);
  EXPECT_EQ(times.costs[1].before_us[0], 4);
  EXPECT_EQ(times.ranks[0].after.step_us, 10 + 3 + 5 + 3);
}

// Would fail if modelled costs changed otherwise than the model says.
TEST(WhatIf, OtherLinksScaleModelledCostsExactly) {
  Changed changed = two_sums();
  ReplayProgram program = changed.job.program();
  JobMeetings meetings = meetings_of(program);
  Topology slow{.devices_per_host = 2, .bandwidth_intra_gb_s = 10};
  Topology fast{.devices_per_host = 2, .bandwidth_intra_gb_s = 1000, .base_us = 1};
  changed.costs = modelled_costs(program, meetings, {.topology = slow});
  WhatIfTimes times = changed.by({.topology = fast}, slow);
  JobCosts wanted = modelled_costs(program, meetings, {.topology = fast});
  for (std::size_t step = 0; step < 2; ++step)
    EXPECT_DOUBLE_EQ(times.costs[0].us[step], wanted[0].us[step]);
  EXPECT_LT(times.after.step_us, times.before.step_us / 10);
  CommChoices tree{.algorithm = CommAlgorithm::tree};
  times = changed.by({.choices = tree}, slow);
  wanted = modelled_costs(program, meetings, {.topology = slow}, tree);
  EXPECT_DOUBLE_EQ(times.costs[1].us[1], wanted[1].us[1]);
}

TEST(WhatIf, ComputationTakesSoManyTimesAsLong) {
  WhatIfTimes times = two_sums().by({.computation_factor = 2});
  EXPECT_EQ(times.after.step_us, 20 + 3 + 40 + 3);
  simmesh::testing::expect_error([] { two_sums().by({.computation_factor = -1}); },
                                 ErrorKind::value_error, "got -1");
}

TEST(WhatIf, RefusesAJobThatHangs) {
  samples::HandJob job(2);
  add_sum(job, 0);
  Changed changed{std::move(job), {segments({1}, 1), segments({}, 1)}};
  simmesh::testing::expect_error([&] { changed.by({}); }, ErrorKind::value_error, "that hangs");
}

// Would fail if the simulated step of the real job weren't the recorded one, or if without waiting
// anything but the transfers themselves were exposed.
TEST(WhatIf, DlrmAsRecordedAndWithoutWaiting) {
  ReplayProgram program = samples::recorded_program("dlrm_pytorch_et.tar.gz");
  JobMeetings meetings = meetings_of(program);
  const JobTimeline& timeline = simmesh::testing::dlrm_timeline();
  CommSpans spans = comm_spans(program, timeline);
  // All ranks of a simulated collective end when the last has come, and the shortest span is over.
  // Recorded ends differ from that, and a rank's step from the simulated one by at most their sum.
  double bound_us = 0, transfers_us = 0;
  for (const Meeting& meeting : meetings.collectives) {
    double last_us = -1e9, error_us = 0;
    for (std::size_t rank = 0; rank < 8; ++rank)
      last_us = std::max(last_us, spans[rank][*meeting.steps[rank]]->begin_us);
    double end_us = last_us + effective_us(program, meeting, spans);
    for (std::size_t rank = 0; rank < 8; ++rank)
      error_us = std::max(error_us, std::abs(spans[rank][*meeting.steps[rank]]->end_us - end_us));
    bound_us += error_us;
    transfers_us += effective_us(program, meeting, spans);
  }
  EXPECT_LT(bound_us, 100);
  FittedLinks links = fit_links(program, meetings, timeline);
  JobCosts costs = recorded_costs(program, meetings, timeline);
  WhatIfTimes times = what_if(program, meetings, costs, links.topology, {.perfect_arrival = true});
  for (std::size_t rank = 0; rank < 8; ++rank) {
    const TimelineStep& step = timeline.ranks[rank].steps.at(0);
    EXPECT_NEAR(times.ranks[rank].before.step_us, step.length_us(), bound_us) << rank;
    EXPECT_LE(times.ranks[rank].after.exposed_us, transfers_us + 1e-6);
    EXPECT_LT(times.ranks[rank].after.step_us, times.ranks[rank].before.step_us);
  }
  EXPECT_LT(times.after.step_us, 0.55 * times.before.step_us);
  EXPECT_GT(times.before.exposed_us, 10000);
  WhatIfTimes even =
      what_if(program, meetings, costs, links.topology, {.choices = {.even_splits = true}});
  std::uint32_t uneven = *meetings.collectives[3].steps[0];
  EXPECT_LT(even.costs[0].us[uneven], costs[0].us[uneven]);
  EXPECT_LT(even.after.step_us, even.before.step_us);
}

}  // namespace

}  // namespace simmesh::replay
