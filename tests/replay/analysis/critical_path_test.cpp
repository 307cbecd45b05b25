#include "replay/analysis/critical_path.h"

#include <gtest/gtest.h>
#include <random>

#include "tests/replay/analysis/hand_timeline.h"

namespace simmesh::replay {

namespace {

using testing::comm;
using testing::compute;
using testing::dlrm_timeline;
using testing::hand_job;
using testing::HandSpan;

using Stretch = std::tuple<PathKind, std::uint32_t, double, double>;

std::vector<Stretch> stretches_of(const JobTimeline& job) {
  std::vector<Stretch> stretches;
  for (const PathStretch& one : critical_path(job, job_collectives(job)).stretches)
    stretches.emplace_back(one.kind, one.rank, one.begin_us, one.end_us);
  return stretches;
}

// Would fail if the path stayed on the rank that waits: the job waits for rank 1, which computes
// until 8, then rank 0 continues, after a pause of its host.
TEST(ReplayCriticalPath, GoesToTheRankThatComesLast) {
  JobTimeline job = hand_job({{compute(0, 3), comm(3, 10), compute(11, 15)},
                              {compute(1, 6), compute(6, 8), comm(8, 10), compute(10, 12)}});
  EXPECT_EQ(stretches_of(job), (std::vector<Stretch>{{PathKind::compute, 1, 1, 6},
                                                     {PathKind::compute, 1, 6, 8},
                                                     {PathKind::moving, 0, 8, 10},
                                                     {PathKind::idle, 0, 10, 11},
                                                     {PathKind::compute, 0, 11, 15}}));
  CriticalPath path = critical_path(job, job_collectives(job));
  EXPECT_EQ(path.length_us(), 14);
  EXPECT_EQ(path.by_kind_us[PathKind::compute], 11);
  EXPECT_EQ(path.by_kind_us[PathKind::moving], 2);
  EXPECT_EQ(path.by_kind_us[PathKind::idle], 1);
  EXPECT_EQ(path.by_rank_us, (std::vector<double>{7, 7}));
  EXPECT_EQ(job.ranks[0].spans[*path.stretches[4].span].end_us, 15);
  EXPECT_FALSE(path.stretches[3].span.has_value());
}

// Would fail if a running span counted as an earlier one: the computation of 0..9 overlaps the
// copy, which begins when the one of 0..2 ends.
TEST(ReplayCriticalPath, LeadsToWhatEndedBefore) {
  JobTimeline job =
      hand_job({{compute(0, 2), compute(0, 9),
                 HandSpan{.begin_us = 2, .end_us = 10, .kind = SpanKind::copy, .track = 1}}});
  EXPECT_EQ(stretches_of(job),
            (std::vector<Stretch>{{PathKind::compute, 0, 0, 2}, {PathKind::copy, 0, 2, 10}}));
}

// Would fail if a communication whose other ranks are missing counted as moving bytes.
TEST(ReplayCriticalPath, StaysOnTheRankWhereOthersAreMissing) {
  JobTimeline job = hand_job({{compute(0, 3), comm(3, 10, 0)}, {}}, 1);
  EXPECT_EQ(stretches_of(job), (std::vector<Stretch>{{PathKind::compute, 0, 0, 3},
                                                     {PathKind::communication, 0, 3, 10}}));
}

TEST(ReplayCriticalPath, OfNothingIsEmpty) {
  EXPECT_EQ(critical_path(hand_job({{}, {}}), {}).length_us(), 0);
  EXPECT_EQ(critical_path({}, {}).stretches.size(), 0u);
}

void expect_whole(const JobTimeline& job) {
  CriticalPath path = critical_path(job, job_collectives(job));
  double last_end = 0, sum = 0;
  for (const RankTimeline& rank : job.ranks)
    for (const TimelineSpan& span : rank.spans)
      if (span.is_of_device()) last_end = std::max(last_end, span.end_us);
  ASSERT_FALSE(path.stretches.empty());
  EXPECT_EQ(path.stretches.back().end_us, last_end);
  for (std::size_t i = 0; i < path.stretches.size(); ++i) {
    EXPECT_LT(path.stretches[i].begin_us, path.stretches[i].end_us);
    if (i > 0) {
      EXPECT_EQ(path.stretches[i - 1].end_us, path.stretches[i].begin_us);
    }
    sum += path.stretches[i].length_us();
  }
  EXPECT_EQ(sum, path.length_us());
}

// Would fail if a path had a hole, ran into itself or didn't end, whatever the times are: clocks
// that differ, collectives that a rank misses, spans without length.
TEST(ReplayCriticalPath, IsWithoutHoles) {
  std::mt19937 random(3);
  auto pick = [&](unsigned below) { return double(random() % below); };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::vector<HandSpan>> ranks(1 + random() % 4);
    for (std::vector<HandSpan>& spans : ranks)
      for (double count = 1 + pick(8); count > 0; --count) {
        double begin = pick(30);
        spans.push_back(pick(2) == 0 ? compute(begin, begin + 1 + pick(9))
                                     : comm(begin, begin + 1 + pick(9)));
        if (pick(5) == 0) spans.push_back(comm(begin, begin));
      }
    expect_whole(hand_job(ranks));
    if (HasFatalFailure() || HasFailure()) FAIL() << "round " << round;
  }
}

// Would fail if the waiting of the published job were on its path: it is 96 % of the communication.
TEST(ReplayCriticalPath, OfARealJobIsWithoutWaiting) {
  const JobTimeline& job = dlrm_timeline();
  expect_whole(job);
  CriticalPath path = critical_path(job, job_collectives(job));
  EXPECT_LE(path.by_kind_us[PathKind::moving], 10 + 8 + 7 + 7 + 86 + 10 + 20 + 79 + 8 * 7);
}

}  // namespace

}  // namespace simmesh::replay
