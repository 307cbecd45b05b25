#include "replay/job/trace_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/packed.h"
#include "tests/replay/trace_text.h"
#include "tests/temporary_folder.h"

namespace simmesh::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(TraceJob, NamesOfFilesSayTheRank) {
  EXPECT_EQ(rank_in_name("job/rank-3.json.gz"), 3);
  EXPECT_EQ(rank_in_name("t.tar.gz:dlrm/dlrm_eg_12.json"), 12);
  EXPECT_EQ(rank_in_name("worker3_step_12.1694128201557.pt.trace.json"), 3);
  EXPECT_EQ(rank_in_name("rank7.json"), 7);
  EXPECT_EQ(rank_in_name("5.json"), 5);
  EXPECT_EQ(rank_in_name("all_reduce.12.et"), 12);
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
  std::vector<std::string> paths = {folder.write("a/first.json", text),
                                    folder.write("b/second.json", text)};
  EXPECT_THAT(ranks_of(read_job(paths)), ElementsAre(0, 1));
  paths = {folder.write("a/step_5.json", text), folder.write("b/step_5.json", text)};
  EXPECT_THAT(ranks_of(read_job(paths)), ElementsAre(0, 1));
}

// Would fail if the traces of two iterations became ranks 0 to 3.
TEST(TraceJob, SaysThatARankIsThereTwice) {
  testing::TemporaryFolder folder;
  std::string text = testing::trace_text({});
  for (const char* file : {"10/rank-0.json", "10/rank-1.json", "20/rank-0.json", "20/rank-1.json"})
    folder.write(file, text);
  std::vector<std::string> paths = {folder.path().string()};
  TraceJob job = read_job(paths);
  EXPECT_THAT(ranks_of(job), ElementsAre(0, 1));
  ASSERT_THAT(job.findings, SizeIs(2));
  EXPECT_EQ(job.findings[0].rule, "rank_twice");
  EXPECT_THAT(job.findings[0].message, HasSubstr("10/rank-0.json and "));
  EXPECT_THAT(job.findings[0].message, HasSubstr("20/rank-0.json"));
}

// Would fail if a trace in the folder of its rank were numbered by its step.
TEST(TraceJob, FoldersSayTheRankWhereFilesDoNot) {
  testing::TemporaryFolder folder;
  folder.write("rank3/step_5.json", testing::trace_text({}));
  folder.write("rank2/step_5.json", testing::trace_text({}));
  std::vector<std::string> paths = {folder.path().string()};
  EXPECT_THAT(ranks_of(read_job(paths)), ElementsAre(2, 3));
}

// Would fail if JSON of another kind beside the traces failed the job, or passed where it is named.
TEST(TraceJob, LeavesOutJsonOfOtherKinds) {
  testing::TemporaryFolder folder;
  folder.write("rank-0.json", testing::trace_text({}));
  std::string other = folder.write("args.json", R"({"lr": 0.1, "a\x01": {"schema": 1}})");
  std::vector<std::string> paths = {folder.path().string()};
  EXPECT_THAT(read_job(paths).findings, SizeIs(0));
  paths = {other};
  TraceJob job = read_job(paths);
  ASSERT_THAT(job.findings, SizeIs(1));
  EXPECT_THAT(job.findings[0].message, HasSubstr("got JSON with the keys 'lr', 'a\\x01'"));
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
