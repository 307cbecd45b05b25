#include "core/shards/job_shard.h"

#include <gtest/gtest.h>
#include <vector>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

TEST(JobShard, IsReadFromText) {
  EXPECT_EQ(JobShard::parse("2/8"), (JobShard{2, 8}));
  EXPECT_EQ(to_string(JobShard{2, 8}), "2/8");
  for (const char* text : {"", "2", "0/3", "4/3", "1/x", "1/2/3"})
    expect_error([&] { JobShard::parse(text); }, ErrorKind::value_error, "expected a shard");
}

// If this fails, a job is done by two shards or by none.
TEST(JobShard, EachJobIsOfOneShard) {
  for (std::uint64_t jobs = 0; jobs < 12; ++jobs)
    for (std::uint64_t count = 1; count < 7; ++count) {
      std::vector<int> done(jobs);
      for (std::uint64_t index = 1; index <= count; ++index) {
        JobShard shard{index, count};
        for (std::uint64_t i = 0; i < shard.jobs_of(jobs); ++i) ++done.at(shard.job(i));
      }
      EXPECT_EQ(done, std::vector<int>(jobs, 1)) << jobs << " jobs, " << count << " shards";
    }
}

}  // namespace
}  // namespace simmesh
