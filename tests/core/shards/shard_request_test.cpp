#include "core/shards/shard_request.h"

#include <sys/stat.h>

#include "tests/expect_error.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;

// If this fails, merge doesn't get what a shard found.
TEST(ShardRequest, ResultsAreUnitedFromTheirFiles) {
  TemporaryFolder folder;
  std::vector<std::string> paths;
  for (const char* shard : {"2/2", "1/2"}) {
    ShardRequest request{
        .command = "work", .shard = shard, .file = folder.path() / std::string(1, shard[0])};
    std::optional<ShardResults> keeps = request.begin("a");
    ASSERT_TRUE(keeps);
    keeps->jobs = 2;
    keeps->results.emplace(keeps->shard.job(0), shard);
    request.write(*keeps);
    paths.push_back(request.file);
    EXPECT_EQ(command_of_shard(request.file), "work");
  }
  ShardResults all = united_from(paths);
  EXPECT_EQ(all.asked, "a");
  EXPECT_TRUE(all.results.at(0).is_text("1/2"));
  EXPECT_TRUE(all.results.at(1).is_text("2/2"));
  paths.pop_back();
  expect_error([&] { united_from(paths); }, ErrorKind::value_error, "got none of 1/2");
}

// If this fails, work is done whose results nobody can keep.
TEST(ShardRequest, IsCheckedBeforeTheWork) {
  EXPECT_FALSE((ShardRequest{.command = "work", .shard = "", .file = ""}.begin("")));
  auto refuses = [](const std::string& shard, const std::string& file, const std::string& text) {
    ShardRequest request{.command = "work", .shard = shard, .file = file};
    expect_error([&] { request.begin(""); }, ErrorKind::value_error, text);
  };
  refuses("", "r", "expected --shard with --results");
  refuses("3/2", "", "expected a shard such as 1/8");
  refuses("1/2", "/none/r", "/none/r");
}

// If this fails, a file of something else, or a pipe, is taken for results.
TEST(CommandOfShard, IsEmptyForOtherFiles) {
  TemporaryFolder folder;
  EXPECT_EQ(command_of_shard(folder.write("other", "garbage\n")), "");
  EXPECT_EQ(command_of_shard(folder.write("empty", "")), "");
  EXPECT_EQ(command_of_shard(folder.path()), "");
  EXPECT_EQ(command_of_shard(folder.path() / "none"), "");
  std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(command_of_shard(pipe), "");
}

// If this fails, shards that read other files are put together.
TEST(InputHash, IsThatOfTheBytesInOrder) {
  TemporaryFolder folder;
  std::string a = folder.write("a", "1"), b = folder.write("b", "2"), c = folder.write("c", "1");
  EXPECT_EQ(input_hash({a, b}), input_hash({c, b}));
  EXPECT_NE(input_hash({a, b}), input_hash({b, a}));
  EXPECT_NE(input_hash({a}), input_hash({b}));
  expect_error([&] { input_hash({"/none"}); }, ErrorKind::value_error, "an input of the command");
}

}  // namespace
}  // namespace simmesh
