#include "core/shards/shard_results.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

// The results of one of two shards of five jobs.
ShardFile some_file(std::uint64_t index) {
  ShardResults results{.command = "verify",
                       .asked = "PATH=cases",
                       .inputs = 0xFFFF000000000001u,
                       .revision = "abc",
                       .shard = {index, 2},
                       .jobs = 5,
                       .about = JsonValue::object({{"left_out", 3}})};
  for (std::uint64_t i = 0; i < results.shard.jobs_of(5); ++i)
    results.results.emplace(results.shard.job(i), JsonValue::object({{"i", i}, {"index", index}}));
  return {"shard" + std::to_string(index), std::move(results)};
}

// If this fails, a file loses what a shard found.
TEST(ShardResults, AreReadAsTheyWereWritten) {
  ShardResults results = some_file(2).content;
  std::string text = results.to_text();
  ShardResults again = shard_results_from(text, "f");
  EXPECT_EQ(again.to_text(), text);
  EXPECT_EQ(again.shard, (JobShard{2, 2}));
  EXPECT_EQ(again.inputs, 0xFFFF000000000001u);
  EXPECT_EQ(again.results.size(), 2u);
}

TEST(ShardResults, AreUnitedInAnyOrder) {
  ShardResults all = united({some_file(2), some_file(1)});
  ASSERT_EQ(all.results.size(), 5u);
  for (std::uint64_t job = 0; job < 5; ++job)
    EXPECT_EQ(all.results.at(job).find("index")->text(), std::to_string(job % 2 + 1));
}

// If this fails, the verdict of a part is taken for that of the whole.
TEST(ShardResults, MissingAndDoubledShardsAreNamed) {
  auto expect = [](const std::vector<ShardFile>& files, std::string_view message) {
    expect_error([&] { united(files); }, ErrorKind::value_error, message);
  };
  expect({}, "expected the files of all shards, got none");
  expect({some_file(2)}, "expected the files of 2 shards, got none of 1/2");
  ShardFile again = some_file(1);
  again.file = "copy";
  expect({some_file(1), again, some_file(2)},
         "copy: expected another shard than shard1 has, got 1/2 again");
}

// If this fails, results of two programs, or of two sets of inputs, are mixed.
TEST(ShardResults, ShardsOfOtherWorkAreRefused) {
  auto expect = [](auto change, std::string_view message) {
    ShardFile other = some_file(2);
    change(other.content);
    expect_error([&] { united({some_file(1), other}); }, ErrorKind::value_error, message);
  };
  expect([](ShardResults& one) { one.command = "run"; },
         "shard2: expected the command of shard1, verify, got run");
  expect([](ShardResults& one) { one.revision = "abd"; },
         "shard2: expected the revision of simmesh of shard1, abc, got abd");
  expect([](ShardResults& one) { one.asked = "PATH=other"; },
         "shard2: expected the arguments of shard1, PATH=cases, got PATH=other");
  expect([](ShardResults& one) { one.inputs = 1; },
         "shard2: expected the hash of the inputs of shard1, ffff000000000001, got "
         "0000000000000001");
  expect([](ShardResults& one) { one.shard.count = 3; }, "expected the number of shards");
  expect([](ShardResults& one) { one.jobs = 4; },
         "expected the number of jobs of shard1, 5, got 4");
  expect([](ShardResults& one) { one.about = {}; }, "expected the facts of shard1");
}

// If this fails, a broken file is taken for results, or ends the command without a reason.
TEST(ShardResults, BrokenFilesNameTheLine) {
  std::string good = some_file(1).content.to_text();
  std::size_t second = good.find('\n') + 1;
  auto expect = [](std::string_view text, std::string_view message) {
    expect_error([&] { shard_results_from(text, "f"); }, ErrorKind::value_error, message);
  };
  expect("", "f:1: expected a line of JSON");
  expect("{}", "f:1: expected the format of the results under 'format', got {}");
  expect("[1]", "f:1: expected the format of the results under 'format', got [1]");
  expect(good.substr(0, second) + "x\n", "f:2: expected a line of JSON");
  expect(good.substr(0, second) + R"({"job":1,"result":0})",
         "f:2: expected a job of shard 1/2 that no other line has, got 1");
  expect(good + good.substr(second), "f:5: expected a job of shard 1/2 that no other line has");
  for (std::size_t size = 0; size < good.size(); ++size) {
    try {
      ShardResults some = shard_results_from(good.substr(0, size), "f");
      EXPECT_LT(some.results.size(), 4u);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::value_error);
    }
  }
}

}  // namespace
}  // namespace simmesh
