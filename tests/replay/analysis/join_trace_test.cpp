#include "replay/analysis/join_trace.h"

#include <gmock/gmock.h>

#include "core/check/error.h"
#include "tests/expect_error.h"
#include "tests/replay/analysis/hand_timeline.h"

namespace simmesh::replay {

namespace {

using simmesh::testing::error_text;
using testing::comm;
using testing::dlrm_timeline;
using testing::hand_job;
using ::testing::HasSubstr;

TraceJob dlrm_traces() {
  std::vector<std::string> paths = {SIMMESH_SOURCE_DIR
                                    "/tests/cases/replay/dlrm_pytorch_et.tar.gz"};
  return read_job(paths);
}

JobTimeline dlrm_times() {
  std::vector<std::string> paths = {SIMMESH_SOURCE_DIR "/tests/cases/replay/dlrm_kineto.tar.gz"};
  return read_timelines(paths);
}

// Would fail if a wait took a communication's place: the published job has five among its eight.
TEST(ReplayJoinTrace, FillsInWhatTheCommunicationsAre) {
  JobTimeline job = dlrm_times();
  join_trace(job, dlrm_traces());
  std::vector<std::string> names;
  for (const TimelineComm& one : job.ranks[3].comms) names.push_back(one.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"all_to_allv", "all_to_all", "all_to_allv", "all_to_allv",
                                      "allreduce", "all_to_allv", "allreduce", "allreduce"}));
  const TimelineComm& uneven = job.ranks[3].comms[3];
  EXPECT_EQ(uneven.in_elements, 3392);
  EXPECT_EQ(uneven.out_elements, 13312);
  EXPECT_EQ(uneven.item_bytes, 4);
  EXPECT_EQ(uneven.group_size, 8);
  EXPECT_EQ(uneven.in_split, (std::vector<std::int64_t>{96, 224, 288, 1664, 592, 96, 192, 240}));
  EXPECT_EQ(uneven.out_split, std::vector<std::int64_t>(8, 1664));
  EXPECT_EQ(job.ranks[3].span_of(uneven).bytes, 13312 * 4);
}

std::string join_refusal(JobTimeline& timeline, const TraceJob& job) {
  return error_text([&] { join_trace(timeline, job); });
}

// Would fail if a timeline of another run were joined in silence.
TEST(ReplayJoinTrace, RefusesWhatDoesNotFit) {
  JobTimeline job = hand_job({{comm(0, 1)}});
  EXPECT_THAT(join_refusal(job, dlrm_traces()),
              HasSubstr("rank 0: expected as many communications in the trace as in the timeline, "
                        "got 8 and 1"));
  EXPECT_THAT(join_refusal(job, {}), HasSubstr("rank 0 has a timeline, expected a trace of it"));
}

}  // namespace

}  // namespace simmesh::replay
