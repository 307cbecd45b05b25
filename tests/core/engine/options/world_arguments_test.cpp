#include "core/engine/options/world_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/engine/world.h"
#include "tests/expect_error.h"

// A line `reproduce: ...` must run what it says, and a word that nobody reads must not pass.
namespace simmesh {
namespace {

using testing::error_text;

using Words = std::vector<std::string>;

std::string refusal_of(const Words& words) {
  return error_text([&] { checked_world_options(words); });
}

TEST(WorldArguments, SetOptionsAndTheProgramOfTheReproLine) {
  WorldOptions options =
      checked_world_options(Words{"./my program", "--seed", "7", "--schedule=seeded:42",
                                  "--threads", "2", "--timeout=1.5", "--release", "2.13"},
                            {.ranks = 3});
  EXPECT_EQ(options.ranks, 3u);
  EXPECT_EQ(options.seed, 7u);
  EXPECT_EQ(options.schedule.name(), "seeded:42");
  EXPECT_EQ(options.threads, 2u);
  EXPECT_EQ(options.timeout_seconds, 1.5);
  EXPECT_EQ(options.release, Release::v2_13);
  EXPECT_EQ(options.program, "'./my program' --threads 2 --timeout 1.5 --release 2.13");
}

TEST(WorldArguments, LeaveDefaultsAlone) {
  WorldOptions options =
      checked_world_options(Words{"./a"}, {.seed = 3, .schedule = Schedule::seeded(4)});
  EXPECT_EQ(options.seed, 3u);
  EXPECT_EQ(options.schedule.name(), "seeded:4");
  EXPECT_EQ(options.program, "./a");
}

// A failed run prints a command line that gives the same schedule.
TEST(WorldArguments, ReadTheReproLineOfAFailedRun) {
  World world(checked_world_options(Words{"./a", "--schedule", "pct:3", "--threads", "2"},
                                    {.ranks = 3, .seed = 5}));
  auto fail = [](Rank& rank) {
    if (rank.id() == 2) throw std::runtime_error("broken");
  };
  Outcome first = world.run(fail);
  EXPECT_THAT(report(first), ::testing::HasSubstr("reproduce: ./a --threads 2 --seed 5 --schedule "
                                                  "pct:3"));
  World again(checked_world_options(
      Words{"./a", "--threads", "2", "--seed", "5", "--schedule", "pct:3"}, {.ranks = 3}));
  EXPECT_EQ(again.run(fail).schedule_hash, first.schedule_hash);
}

TEST(WorldArguments, RefuseWhatTheyDoNotKnow) {
  EXPECT_EQ(
      refusal_of({"./a", "--sead", "7"}),
      "[engine/arguments] expected --seed N, --schedule S, --threads N, --timeout S or --release "
      "R, got '--sead'");
  EXPECT_EQ(refusal_of({"./a", "--seed"}),
            "[engine/arguments] expected a value after --seed, got the end of the line");
  EXPECT_EQ(refusal_of({"./a", "--seed=-1"}),
            "[engine/arguments] expected a number from 0 to 2^64 - 1 after --seed, got '-1'");
  EXPECT_EQ(refusal_of({"./a", "--threads", "0"}),
            "[engine/arguments] expected at least one thread after --threads, got 0");
  EXPECT_EQ(refusal_of({"./a", "--timeout", "soon"}),
            "[engine/arguments] expected a number of seconds after --timeout, got 'soon'");
  EXPECT_EQ(refusal_of({"./a", "--schedule", "fifo", "--schedule", "fifo"}),
            "[engine/arguments] expected one --schedule, got 2");
  EXPECT_THAT(refusal_of({"./a", "--schedule", "later"}),
              ::testing::HasSubstr("[engine/schedule]"));
}

TEST(WorldArgumentsDeathTest, AWrongWordEndsTheProgramWithStatusTwo) {
  const char* words[] = {"./a", "--nonsense"};
  EXPECT_EXIT(world_options_from(2, words), ::testing::ExitedWithCode(2),
              "^\\[engine/arguments\\] expected --seed N.*got '--nonsense'\n$");
}

TEST(WorldArguments, KeepTheWordsOfOthers) {
  WorldArguments arguments = WorldArguments::parse(Words{"input.txt", "--seed", "1", "--fast"});
  EXPECT_THAT(arguments.others, ::testing::ElementsAre("input.txt", "--fast"));
}

}  // namespace
}  // namespace simmesh
