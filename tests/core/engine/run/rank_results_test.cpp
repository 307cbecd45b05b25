#include "core/engine/run/rank_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/deputy.h"
#include "core/engine/world.h"
#include "core/ops/elementwise/inplace.h"
#include "core/tensor/tensor.h"
#include "tests/every_schedule.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// If this fails, the data hash doesn't say which rank gave what, or counts a rank twice.
TEST(RankResults, HashTheDataInRankOrder) {
  auto hash_of = [](std::vector<std::uint64_t> words) {
    return run_every_schedule(words.size(), [&](Rank& rank) { rank.record(words[rank.id()]); });
  };
  EXPECT_EQ(hash_of({1, 2}), hash_of({1, 2}));
  EXPECT_NE(hash_of({1, 2}), hash_of({2, 1}));
  EXPECT_NE(hash_of({1, 2}), hash_of({1, 2, 0}));
}

// If this fails, the memory of a plan is that of another rank than the one which needs the most.
TEST(RankResults, GiveTheBytesOfTheRankThatHeldTheMost) {
  World world({.ranks = 3, .deputies = 1});
  Outcome outcome = world.run([](Rank& rank) {
    Tensor held = zeros({100 * (1 + std::int64_t(rank.id() % 2))}, DType::float32);
    Deputy::of_this_rank(0).start([] { zeros({1000}, DType::float32); }).wait();
  });
  EXPECT_EQ(outcome.peak_bytes, 800) << "what deputies hold is no device memory";
  EXPECT_EQ(outcome.ranks, 3u);
}

// If this fails, a copy that real hardware wouldn't make goes unseen.
TEST(RankResults, CountCopiesOnWriteOfAllRanks) {
  World world({.ranks = 3});
  Outcome outcome = world.run([](Rank& rank) {
    StoragePtr storage = Storage::make(16);
    for (RankId i = 0; i < rank.id(); ++i)
      Storage::share(storage->buffer(), 0, 16)->mutable_data()[0] = std::byte{1};
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_EQ(outcome.copies_on_write, 3u);
}

// If this fails, a folded world speaks for ranks that differ from those it has run.
TEST(RankResults, SayWhereTheRanksOfAFoldedWorldDiffer) {
  World world({.ranks = 8, .shapes_only = true, .fold = true});
  auto body = [](bool is_even) {
    return [is_even](Rank& rank) { zeros({is_even || rank.id() == 0 ? 4 : 5}, DType::float32); };
  };
  Outcome even = world.run(body(true));
  ASSERT_EQ(even.figures.size(), 2u);
  EXPECT_EQ(even.figures[1].rank, 7u);
  EXPECT_EQ(even.fold_difference, "");
  EXPECT_EQ(world.run(body(false)).fold_difference, "peak bytes: 16 on rank 0, 20 on rank 7");
}

// If this fails, times of a run that was cut off pass for those of the whole.
TEST(RankResults, GiveTimesOfDevicesOnlyIfTheRunWasOk) {
  for (bool fails : {false, true}) {
    World world({.ranks = 2, .device = DeviceModel()});
    Outcome outcome = world.run([&](Rank& rank) {
      Tensor tensor = zeros({1024}, DType::float32);
      add_(tensor, tensor);
      if (fails && rank.id() == 1) throw std::runtime_error("broken");
    });
    ASSERT_EQ(outcome.devices.size(), 2u);
    EXPECT_EQ(outcome.devices[0].makespan_us > 0, !fails);
    EXPECT_GT(outcome.devices[1].memory.reserved.peak, 0) << "memory counts in any case";
  }
}

// If this fails, a run that was asked for a trace leaves none, or one without its events.
TEST(RankResults, WriteTheTraceFile) {
  testing::TemporaryFolder folder;
  for (bool fails : {false, true}) {
    World world({.ranks = 2, .trace_file = (folder.path() / "trace.json").string()});
    world.run([&](Rank& rank) {
      rank.yield();
      if (fails && rank.id() == 1) throw std::runtime_error("broken");
    });
    std::string text = folder.read("trace.json");
    EXPECT_THAT(text, HasSubstr("yield"));
    EXPECT_THAT(text, HasSubstr(fails ? "rank 1 failed: broken" : "\"ok\""));
  }
}

}  // namespace
}  // namespace simmesh
