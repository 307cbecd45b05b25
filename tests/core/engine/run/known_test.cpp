#include "core/engine/run/known.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"
#include "core/memory/data_mode.h"
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

}  // namespace
}  // namespace simmesh
