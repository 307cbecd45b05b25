#include "replay/analysis/check_timelines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/analysis/hand_timeline.h"

namespace simmesh::replay {

namespace {

using testing::comm;
using testing::compute;
using testing::dlrm_timeline;
using testing::hand_job;
using testing::HandSpan;
using ::testing::HasSubstr;

HandSpan named(std::string name, double begin, double end) {
  HandSpan span = comm(begin, end, 0);
  span.name = std::move(name);
  return span;
}

std::vector<std::string> findings_of(const JobTimeline& job) {
  std::vector<std::string> lines;
  for (const Finding& finding : check_timelines(job, job_collectives(job)).findings)
    lines.push_back(to_string(finding));
  return lines;
}

// Two ranks, an all-reduce of 8 elements and a gather of 2 to 4.
JobTimeline sound_job() {
  JobTimeline job = hand_job({{named("allreduce", 0, 10), named("_allgather_base", 20, 30)},
                              {named("allreduce", 5, 10), named("_allgather_base", 22, 30)}},
                             1);
  for (RankTimeline& rank : job.ranks) {
    for (TimelineComm& each : rank.comms) {
      each.group_size = 2;
      each.item_bytes = 4;
    }
    rank.comms[0].in_elements = rank.comms[0].out_elements = 8;
    rank.comms[1].in_elements = 2;
    rank.comms[1].out_elements = 4;
  }
  return job;
}

void erase_first(RankTimeline& rank) {
  rank.comms.erase(rank.comms.begin());
  rank.spans.erase(rank.spans.begin());
  for (TimelineComm& each : rank.comms) {
    each.span -= 1;
    rank.spans[each.span].comm = each.span;
  }
}

// Would fail if sound timelines were blamed, or if a check that compares nothing counted.
TEST(ReplayCheckTimelines, SoundOnesPass) {
  JobTimeline job = sound_job();
  TimelineChecks checks = check_timelines(job, job_collectives(job));
  EXPECT_TRUE(checks.findings.empty());
  for (const TimelineCheck& check : checks.checks) EXPECT_GT(check.compared, 0u) << check.rule;
  EXPECT_TRUE(findings_of(dlrm_timeline()).empty());
  JobTimeline alone = hand_job({{compute(0, 1)}});
  for (const TimelineCheck& check : check_timelines(alone, {}).checks)
    EXPECT_EQ(check.compared, 0u) << check.rule;
}

// Would fail if a rank whose profile begins late weren't noticed, or if what follows were paired
// with other collectives.
TEST(ReplayCheckTimelines, SaysTheFirstDifference) {
  JobTimeline job = sound_job();
  erase_first(job.ranks[1]);
  std::vector<std::string> lines = findings_of(job);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "error timeline_order: rank 1: collective 0 of the group of ranks [0, 1]: expected "
            "allreduce of 32 bytes at 0.0 us as rank 0 has it, got _allgather_base of 16 bytes at "
            "22.0 us; 1 of 2 collectives differ");
}

// Would fail if another size of the same collective were a missing one.
TEST(ReplayCheckTimelines, ComparesSizes) {
  JobTimeline job = sound_job();
  job.ranks[1].comms[0].in_elements = job.ranks[1].comms[0].out_elements = 16;
  std::vector<std::string> lines = findings_of(job);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("error timeline_sizes: rank 1"));
  job = sound_job();
  for (RankTimeline& rank : job.ranks) rank.comms[0].in_elements = 3;
  EXPECT_THAT(findings_of(job).at(0), HasSubstr("as many elements out as in, got 3 and 8"));
  job = sound_job();
  job.ranks[0].comms[0].in_split = {4, 3};
  EXPECT_THAT(findings_of(job).at(0), HasSubstr("add up to 8 elements"));
}

TEST(ReplayCheckTimelines, KnowsWhoIsInAGroup) {
  JobTimeline job = sound_job();
  job.groups[0].members = {0, 3};
  EXPECT_THAT(findings_of(job).at(0), HasSubstr("expected a group with rank 1, got ranks [0, 3]"));
  job = sound_job();
  job.ranks[0].comms[0].group_size = 4;
  EXPECT_THAT(findings_of(job).at(0), HasSubstr("expected a group of 4 ranks, got ranks [0, 1]"));
}

// Would fail if parts without a common moment passed: their waiting says nothing.
TEST(ReplayCheckTimelines, WantsTimesThatOverlap) {
  JobTimeline job = hand_job({{named("allreduce", 0, 10)}, {named("allreduce", 50, 60)}}, 1);
  EXPECT_THAT(findings_of(job).at(0), HasSubstr("error timeline_overlap: rank 0"));
}

// Would fail if zeros were printed for a device that nobody recorded, or for ranks that are away.
TEST(ReplayCheckTimelines, WarnsOfWhatIsNotThere) {
  JobTimeline job = hand_job({{HandSpan{.end_us = 1, .kind = SpanKind::host}}});
  job.world_size = 4;
  job.ranks[0].events = 3;
  job.ranks[0].other_categories = {{"mtia_ops", 2}};
  std::vector<std::string> lines = findings_of(job);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("warning timeline_ranks: expected 4 timelines, got 1"));
  EXPECT_THAT(lines[1], HasSubstr("2 of category 'mtia_ops'"));
  EXPECT_FALSE(has_device(job.ranks[0]));
}

}  // namespace

}  // namespace simmesh::replay
