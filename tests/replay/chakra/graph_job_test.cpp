#include "replay/chakra/graph_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/chakra/write_chakra.h"
#include "tests/replay/chakra/chakra_samples.h"
#include "tests/temporary_folder.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Would fail if graphs of one rank counted as two, or names in ASTRA-sim's way said no rank.
TEST(GraphJob, SaysThatARankIsThereTwice) {
  testing::TemporaryFolder folder;
  std::string bytes = to_protobuf(chakra_sample());
  for (const char* file : {"a/graph.0.et", "a/graph.1.et", "b/graph.1.et"})
    folder.write(file, bytes);
  std::vector<std::string> paths = {folder.path().string()};
  TraceJob job;
  add_graphs(paths, job);
  ASSERT_THAT(job.ranks, SizeIs(2));
  EXPECT_EQ(job.ranks[1].rank, 1);
  EXPECT_EQ(job.findings.back().rule, "rank_twice");
  EXPECT_THAT(job.findings.back().message, HasSubstr("a/graph.1.et and "));
}

// Would fail if a graph that can't be read ended the report, or was named by its bytes.
TEST(GraphJob, AGraphThatCannotBeReadIsAFinding) {
  testing::TemporaryFolder folder;
  std::string file = folder.write("rank-0.et",
                                  "\x07\x0a\x05"
                                  "0.0");
  std::vector<std::string> paths = {file};
  TraceJob job;
  add_graphs(paths, job);
  ASSERT_THAT(job.findings, SizeIs(1));
  EXPECT_EQ(job.findings[0].rule, "chakra_cut");
  EXPECT_THAT(job.findings[0].message, HasSubstr("rank-0.et: message 0"));
}

}  // namespace
}  // namespace simmesh::replay
