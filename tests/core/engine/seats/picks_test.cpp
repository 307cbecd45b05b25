#include "core/engine/seats/picks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/world.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Picks picks_of(const Schedule& schedule, bool keeps_choices = true) {
  return Picks(schedule.make_policy(8, 0), keeps_choices);
}

// If this fails, the record of a run doesn't replay it.
TEST(Picks, KeepARecordOfEveryChoice) {
  Picks picks = picks_of(Schedule::fifo());
  for (RankId rank : {2, 5, 1}) picks.add(rank);
  std::uint64_t before = picks.hash();
  EXPECT_EQ(picks.next(), 2u);
  EXPECT_EQ(picks.step(), 1u);
  EXPECT_NE(picks.hash(), before);
  picks.add(2);
  for (RankId rank : {5, 1, 2}) EXPECT_EQ(picks.next(), rank);
  EXPECT_TRUE(picks.has_run_dry());
  EXPECT_EQ(picks.next(), no_rank);
  EXPECT_EQ(picks.step(), 4u);
  EXPECT_THAT(picks.take_choices(), ElementsAre(2, 5, 1, 2));
}

// If this fails, equal interleavings have different hashes, or different ones equal hashes.
TEST(Picks, HashTheChoicesAndWhatIsFoldedIn) {
  auto hash_of = [](const std::vector<RankId>& ranks, std::uint64_t word) {
    Picks picks = picks_of(Schedule::fifo(), false);
    for (RankId rank : ranks) picks.add(rank);
    while (picks.next() != no_rank) picks.fold(word);
    EXPECT_THAT(picks.take_choices(), IsEmpty());
    return picks.hash();
  };
  EXPECT_EQ(hash_of({0, 1}, 7), hash_of({0, 1}, 7));
  EXPECT_NE(hash_of({0, 1}, 7), hash_of({1, 0}, 7));
  EXPECT_NE(hash_of({0, 1}, 7), hash_of({0, 1}, 8));
}

// A policy that has no memory at its third choice.
struct ForgetfulPolicy : SchedulePolicy {
  void add(RankId rank) override { ranks.push_back(rank); }
  RankId pick() override {
    if (++picked == 3) throw std::bad_alloc();
    RankId rank = ranks.front();
    ranks.erase(ranks.begin());
    return rank;
  }
  std::vector<RankId> ranks;
  int picked = 0;
};

// If this fails, a lack of memory leaves the scheduler of the ranks, which ends the program.
TEST(Picks, EndWithoutMemoryForAChoice) {
  Picks picks(std::make_unique<ForgetfulPolicy>(), true);
  for (RankId rank : {0, 1, 2}) picks.add(rank);
  EXPECT_EQ(picks.next(), 0u);
  EXPECT_EQ(picks.next(), 1u);
  EXPECT_EQ(picks.shortage(), nullptr);
  EXPECT_EQ(picks.next(), no_rank);
  EXPECT_FALSE(picks.has_run_dry());
  EXPECT_THAT(picks.error(), HasSubstr("expected memory to choose the next rank"));
  EXPECT_NE(picks.shortage(), nullptr);
}

// The run of a world ends with that reason, its ranks unwound, on one thread and on two.
TEST(Picks, EndTheRunWithoutMemoryForAChoice) {
  Schedule forgetful = Schedule::custom(
      "forgetful", [](std::size_t, std::uint64_t) { return std::make_unique<ForgetfulPolicy>(); });
  for (std::size_t threads : {1, 2}) {
    World world({.ranks = 4, .schedule = forgetful, .threads = threads});
    Outcome outcome = world.run([](Rank& rank) { rank.yield(); });
    ASSERT_TRUE(outcome.failure);
    EXPECT_THAT(outcome.failure->message, HasSubstr("expected memory to choose the next rank"));
    EXPECT_THROW(std::rethrow_exception(outcome.failure->exception), std::bad_alloc);
  }
}

// If this fails, an interrupted run goes on, or is reported as a deadlock.
TEST(Picks, StopOnceTheyAreInterrupted) {
  Picks picks = picks_of(Schedule::fifo());
  picks.add(0);
  picks.interrupt();
  EXPECT_FALSE(picks.was_interrupted()) << "nobody has asked for the next rank yet";
  EXPECT_EQ(picks.next(), no_rank);
  EXPECT_TRUE(picks.was_interrupted());
  EXPECT_FALSE(picks.has_run_dry());
  EXPECT_EQ(picks.step(), 0u);
}

// If this fails, a schedule that can't be followed ends without a reason.
TEST(Picks, SayWhyThePolicyCanNotGoOn) {
  Picks picks = picks_of(Schedule::replay("1,0"));
  picks.add(0);
  EXPECT_EQ(picks.error(), "");
  EXPECT_EQ(picks.next(), no_rank);
  EXPECT_THAT(picks.error(), HasSubstr("[engine/replay]"));
  EXPECT_FALSE(picks.has_run_dry());
}

// If this fails, ranks that only unwind appear in a recorded schedule, which then can't be
// replayed, or a policy that has failed keeps them from unwinding.
TEST(Picks, RecordNothingOnceTheRunEnds) {
  Picks picks = picks_of(Schedule::replay("1"));
  picks.add(0);
  picks.next();
  picks.interrupt();
  std::uint64_t hash = picks.hash();
  picks.begin_ending(8);
  EXPECT_TRUE(picks.is_ending());
  EXPECT_EQ(picks.next(), no_rank) << "who was runnable before is forgotten";
  for (RankId rank : {4, 0, 3}) picks.add(rank);
  for (RankId rank : {4, 0, 3}) EXPECT_EQ(picks.next(), rank);
  EXPECT_EQ(picks.next(), no_rank);
  EXPECT_EQ(picks.hash(), hash);
  EXPECT_EQ(picks.step(), 0u);
  EXPECT_THAT(picks.take_choices(), IsEmpty());
}

// If this fails, memory is fetched for a rank that doesn't come next.
TEST(Picks, ForeseeThePickOfFifo) {
  Picks picks = picks_of(Schedule::fifo());
  EXPECT_EQ(picks.foreseen(), no_rank);
  picks.add(6);
  EXPECT_EQ(picks.foreseen(), 6u);
  EXPECT_EQ(picks.next(), 6u);
}

// If this fails, the hash of a whole run isn't that of its picks under some schedule.
TEST(Picks, GiveTheOutcomeOfARun) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"}) {
    World world({.ranks = 4, .schedule = Schedule::parse(schedule), .record_choices = true});
    Outcome outcome = world.run([](Rank& rank) { rank.yield(); });
    Picks picks = picks_of(Schedule::replay(choices_to_string(outcome.choices)));
    for (RankId rank = 0; rank < 4; ++rank) picks.add(rank);
    std::vector<int> picked(4);
    for (RankId rank = picks.next(); rank != no_rank; rank = picks.next())
      if (picked[rank]++ == 0) picks.add(rank);
    EXPECT_EQ(picks.hash(), outcome.schedule_hash) << schedule;
    EXPECT_EQ(picks.step(), outcome.steps) << schedule;
  }
}

}  // namespace
}  // namespace simmesh
