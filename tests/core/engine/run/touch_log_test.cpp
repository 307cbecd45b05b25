#include "core/engine/run/touch_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/run/run.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Listener is a policy that remembers what it is told.
class Listener final : public SchedulePolicy {
 public:
  explicit Listener(std::vector<std::pair<RankId, std::uint64_t>>& heard) : heard_(heard) {}

  void add(RankId rank) override { rank_ = rank; }
  RankId pick() override { return rank_; }
  void touched(RankId rank, std::uint64_t object) override { heard_.emplace_back(rank, object); }
  bool listens() const override { return true; }

 private:
  std::vector<std::pair<RankId, std::uint64_t>>& heard_;
  RankId rank_ = no_rank;
};

std::vector<std::tuple<std::uint64_t, RankId, std::uint64_t>> in_tuples(const TouchLog& log) {
  std::vector<std::tuple<std::uint64_t, RankId, std::uint64_t>> tuples;
  for (const Touch& touch : log.sensitive())
    tuples.push_back({touch.step, touch.rank, touch.object});
  return tuples;
}

// If this fails, the explorer takes for independent what isn't, or looks at orders that don't
// matter.
TEST(TouchLog, GivesTheUsesOfSensitiveObjects) {
  Picks picks(Schedule::fifo().make_policy(4, 0), false);
  TouchLog log(picks);
  log.add(0, 10);
  picks.add(3);
  picks.next();
  log.add(3, 11);
  log.add(3, 10);
  EXPECT_THAT(in_tuples(log), IsEmpty());
  log.mark_sensitive(10);
  log.mark_sensitive(12);
  EXPECT_THAT(in_tuples(log), ElementsAre(std::tuple(0, 0, 10), std::tuple(1, 3, 10)));
  log.mark_all_sensitive();
  EXPECT_THAT(in_tuples(log),
              ElementsAre(std::tuple(0, 0, 10), std::tuple(1, 3, 11), std::tuple(1, 3, 10)));
}

// If this fails, the explorer doesn't hear of uses in time to put other steps to sleep.
TEST(TouchLog, TellsAPolicyThatListens) {
  std::vector<std::pair<RankId, std::uint64_t>> heard;
  Picks picks(std::make_unique<Listener>(heard), false);
  TouchLog log(picks);
  EXPECT_TRUE(log.is_listened_to());
  log.add(2, 7);
  EXPECT_THAT(heard, ElementsAre(std::pair(2u, 7u)));
  Picks deaf(Schedule::seeded(1).make_policy(1, 0), false);
  EXPECT_FALSE(TouchLog(deaf).is_listened_to());
}

// If this fails, a touch isn't a point where another rank may come first.
TEST(TouchLog, HoldsEveryTouchOfARun) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"})
    for (std::size_t threads : {1, 2}) {
      World world({.ranks = 3, .schedule = Schedule::parse(schedule), .threads = threads});
      Outcome outcome = world.run([](Rank& rank) {
        for (int i = 0; i < 2; ++i) rank.run().touch(rank, 5, CallSite());
        rank.run().touch(rank, 6 + rank.id(), CallSite());
        rank.run().touches().mark_sensitive(5);
      });
      ASSERT_TRUE(outcome.ok()) << report(outcome);
      ASSERT_EQ(outcome.touches.size(), 6u);
      for (std::size_t i = 1; i < 6; ++i)
        EXPECT_GT(outcome.touches[i].step, outcome.touches[i - 1].step);
    }
}

}  // namespace
}  // namespace simmesh
