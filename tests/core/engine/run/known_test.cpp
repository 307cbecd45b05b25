#include "core/engine/run/known.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"
#include "core/memory/data_mode.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/shapes/factories.h"
#include "core/tensor/vector_of.h"
#include "tests/core/engine/spread/run_spread.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

// A program in one process would need a message, or lose the error.
TEST(Known, OnlyCallsInOneProcess) {
  EXPECT_EQ(known_text("a word", [] { return std::string("word"); }), "word");
  testing::expect_error(
      [] {
        known_text("a word", []() -> std::string {
          raise(ErrorKind::key_error, "test/known", "expected a word");
        });
      },
      ErrorKind::key_error, "[test/known] expected a word");
}

// Ghosts would go on by a text of their own.
TEST(Known, ComesFromTheOwner) {
  EXPECT_EQ(run_spread(3,
                       [](WorldSpread&) {
                         std::string all;
                         World({.ranks = 3}).run([&](Rank& rank) {
                           all += known_text("a word", [&] {
                             KnownScope again;
                             return known_text("not told", [&] {
                               return DataMode::shapes_only() ? std::string("ghost ")
                                                              : fmt::format("rank {} ", rank.id());
                             });
                           });
                         });
                         return all;
                       }),
            "rank 0 rank 1 rank 2 ");
}

// An error of the owner would leave the ghosts without it.
TEST(Known, ErrorsComeFromTheOwner) {
  EXPECT_EQ(run_spread(2,
                       [](WorldSpread&) {
                         std::string text;
                         World({.ranks = 2}).run([&](Rank&) {
                           text += testing::error_text([] {
                             known_text("a word", []() -> std::string {
                               raise(ErrorKind::key_error, "test/known", "expected a word");
                             });
                           });
                         });
                         return text;
                       }),
            "[test/known] expected a word[test/known] expected a word");
}

// A body that catches an operator's error would go on in the owner's process alone.
TEST(Known, ErrorsOfOperatorsAreToldWhereTheProgramAsks) {
  auto body = [](Rank& rank) {
    Tensor x = full(Dims{3, 2}, DType::float32, 1);
    std::int64_t place = rank.id() == 1 ? 7 : 2;
    std::string error = testing::error_text(
        [&] { rank.record(index_select(x, 0, vector_of<std::int64_t>({place}))); });
    rank.record(std::uint64_t(error.size()));
    if (!error.empty()) return;
    known_text("a word", [] { return std::string("word"); });
  };
  std::string alone = both_hashes(World({.ranks = 3}).run(body));
  EXPECT_EQ(alone.find("failed"), std::string::npos) << alone;
  for (const char* schedule : {"fifo", "seeded:3", "pct:2"}) {
    auto run = [&](WorldSpread& spread, bool tells) {
      if (tells) spread.tell_errors();
      return both_hashes(World({.ranks = 3, .schedule = Schedule::parse(schedule)}).run(body));
    };
    EXPECT_EQ(run_spread(3, [&](WorldSpread& spread) { return run(spread, true); }).substr(0, 16),
              alone.substr(0, 16));
    std::string untold = run_spread(3, [&](WorldSpread& spread) { return run(spread, false); });
    EXPECT_NE(untold.find("the program takes another way there"), std::string::npos) << untold;
  }
}

}  // namespace
}  // namespace simmesh
