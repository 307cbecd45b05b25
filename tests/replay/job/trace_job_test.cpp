#include "replay/job/trace_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/packed.h"
#include "tests/replay/trace_text.h"
#include "tests/temporary_folder.h"

namespace simmesh::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(TraceJob, NamesOfFilesSayTheRank) {
  EXPECT_EQ(rank_in_name("job/rank-3.json.gz"), 3);
  EXPECT_EQ(rank_in_name("t.tar.gz:dlrm/dlrm_eg_12.json"), 12);
  EXPECT_EQ(rank_in_name("worker3_step_12.1694128201557.pt.trace.json"), 3);
  EXPECT_EQ(rank_in_name("rank7.json"), 7);
  EXPECT_EQ(rank_in_name("5.json"), 5);
  EXPECT_EQ(rank_in_name("resnet_2gpu_et.1.1.0.json.gz"), std::nullopt);
  EXPECT_EQ(rank_in_name("job_3/trace.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("rank-99999999999999999999.json"), std::nullopt);
}

std::vector<std::int64_t> ranks_of(const TraceJob& job) {
  std::vector<std::int64_t> ranks;
  for (const RankTrace& rank : job.ranks) ranks.push_back(rank.rank);
  return ranks;
}

TEST(TraceJob, ReadsTheTracesOfAFolderAndOfAnArchive) {
  testing::TemporaryFolder folder;
  std::string text = testing::trace_text({{.id = 3}});
  folder.write("job/rank-10.json", text);
  folder.write("job/rank-2.json.gz", testing::gzip(text));
  folder.write("job/README.md", "no trace");
  folder.write("job/rank-2_resources/kernel.py", "no trace");
  folder.write("job/worker2.pt.trace.json", R"({"schemaVersion": 1, "traceEvents": []})");
  std::vector<std::string> paths = {folder.path().string() + "/job"};
  TraceJob job = read_job(paths);
  EXPECT_THAT(ranks_of(job), ElementsAre(2, 10));
  EXPECT_THAT(job.findings, SizeIs(0));
  ASSERT_NE(job.find(10), nullptr);
  EXPECT_EQ(job.find(10)->trace.nodes.size(), 3u);
  EXPECT_EQ(job.find(3), nullptr);
}

TEST(TraceJob, CountsFilesWhereNamesDoNotSayTheRank) {
  testing::TemporaryFolder folder;
  std::string text = testing::trace_text({});
  std::vector<std::string> paths = {folder.write("a/rank-1.json", text),
                                    folder.write("b/rank-1.json", text)};
  EXPECT_THAT(ranks_of(read_job(paths)), ElementsAre(0, 1));
}

TEST(TraceJob, ATraceThatCannotBeReadIsAFinding) {
  testing::TemporaryFolder folder;
  folder.write("rank-0.json", testing::trace_text({}));
  folder.write("rank-1.json", "{\"schema\": \"1.1.1\", \"nodes\": [");
  std::vector<std::string> paths = {folder.path().string()};
  TraceJob job = read_job(paths);
  EXPECT_THAT(ranks_of(job), ElementsAre(0));
  ASSERT_THAT(job.findings, SizeIs(1));
  EXPECT_EQ(job.findings[0].rule, "json");
  EXPECT_EQ(job.findings[0].rank, 1);
}

}  // namespace
}  // namespace simmesh::replay
