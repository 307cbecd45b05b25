#include "core/shards/report_block.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

ShardResults kept() {
  ShardResults all{.jobs = 2};
  for (std::uint64_t job = 0; job < 2; ++job)
    all.results.emplace(job, to_json(ReportBlock{.text = "gate\n",
                                                 .json = R"({"loss":1e400,"n":-0.0})",
                                                 .counts = {{"passed", job + 2}}}));
  return all;
}

// If this fails, a report of shards has other bytes than one of a whole run.
TEST(ReportBlock, IsKeptAsItIs) {
  std::vector<ReportBlock> blocks = report_blocks(shard_results_from(
      [] {
        ShardResults all = kept();
        all.command = all.asked = all.revision = "x";
        return all.to_text();
      }(),
      "f"));
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[1].text, "gate\n");
  EXPECT_EQ(join_json(blocks), R"({"loss":1e400,"n":-0.0},{"loss":1e400,"n":-0.0})");
  EXPECT_EQ(count_over(blocks, "passed"), 5u);
  EXPECT_EQ(count_over(blocks, "failed"), 0u);
}

TEST(ReportBlock, MissingAndBrokenOnesAreRefused) {
  ShardResults all = kept();
  all.results.erase(0);
  expect_error([&] { report_blocks(all); }, ErrorKind::value_error, "got none of number 1");
  all.results.emplace(0, JsonValue("x"));
  expect_error([&] { report_blocks(all); }, ErrorKind::value_error,
               "expected what is printed of a job, got \"x\"");
}

}  // namespace
}  // namespace simmesh
