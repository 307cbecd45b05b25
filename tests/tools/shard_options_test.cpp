#include "tools/shard_options.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;

// Returns what a subcommand "work" knows before its first job, given these arguments.
std::optional<ShardResults> begin_with(const std::string& arguments) {
  CLI::App program;
  CLI::App* app = program.add_subcommand("work", "");
  ShardOptions options;
  std::string path;
  app->add_option("PATH", path);
  options.add_to(*app, "jobs");
  program.parse("work " + arguments);
  return options.begin();
}

// If this fails, merge takes shards of other work, or refuses those of one.
TEST(ShardOptions, KeepTheArgumentsThatDecide) {
  TemporaryFolder folder;
  std::string file = folder.path() / "r";
  EXPECT_FALSE(begin_with("a"));
  std::optional<ShardResults> one = begin_with("a --shard 1/2 --results " + file);
  std::optional<ShardResults> two = begin_with("a --shard 2/2 --results " + file);
  std::optional<ShardResults> other = begin_with("b --shard 2/2 --results " + file);
  ASSERT_TRUE(one && two && other);
  EXPECT_EQ(one->command, "work");
  EXPECT_EQ(two->shard, (JobShard{2, 2}));
  EXPECT_EQ(one->asked, two->asked);
  EXPECT_NE(one->asked, other->asked);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(ShardOptions, RefuseWhatMakesNoShard) {
  for (const char* arguments :
       {"a --results r", "a --shard 3/2", "a --shard 1/2 --results /none/r"})
    expect_error([&] { begin_with(arguments); }, ErrorKind::value_error, "expected");
}

}  // namespace
}  // namespace simmesh
