#include "verify/replay/case_timeline.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace simmesh {
namespace {

using nlohmann::json;

TEST(VerifyCaseTimeline, RoundsWhatIsNoInteger) {
  json value = {{"a", 1.00049999}, {"b", {7, 0.3 - 0.1, "x"}}, {"c", nullptr}};
  EXPECT_EQ(in_nanoseconds(value), (json{{"a", 1.0}, {"b", {7, 0.2, "x"}}, {"c", nullptr}}));
}

// Would fail if groups or ids told collectives apart in a case, whose definition is the k-th of
// each rank.
TEST(VerifyCaseTimeline, CountsCommunicationsOfAllGroups) {
  std::string file = SIMMESH_SOURCE_DIR "/tests/cases/replay/cases.jsonl";
  RecordedCase recorded = RecordedCase::parse(
      R"({"kind": "skew", "id": "a", "source": "b", "file": "x"})", {.file = file, .line = 1});
  std::vector<std::string> paths = {SIMMESH_SOURCE_DIR "/tests/cases/replay/dlrm_kineto.tar.gz"};
  replay::JobTimeline job = read_case_timeline(recorded, paths);
  EXPECT_EQ(job.ranks.size(), 8u);
  for (const replay::RankTimeline& rank : job.ranks)
    for (const replay::TimelineComm& comm : rank.comms) EXPECT_FALSE(comm.group.has_value());
}

}  // namespace
}  // namespace simmesh
