#include "core/engine/run/failure_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// Meeting is an operation that waits for given ranks.
struct Meeting final : Waitable {
  std::vector<RankId> missing;
  std::string what;

  explicit Meeting(std::vector<RankId> ranks) : missing(std::move(ranks)) {}
  std::string group() const override { return "all"; }
  std::string operand(RankId) const override { return {}; }
  std::string difference() const override { return what; }
  std::vector<RankId> missing_ranks() const override { return missing; }
};

void wait_for(Rank& rank, const Waitable& operation) {
  rank.run().block(rank, {.operation = "meet", .waits_for = &operation, .site = {"a.cpp", 3}});
}

// Returns the report of a run under FIFO, after it was the same under other schedules.
std::string report_of(std::size_t ranks, const std::function<void(Rank&)>& body) {
  std::string first;
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"})
    for (std::size_t threads : {1, 2}) {
      World world({.ranks = ranks, .schedule = Schedule::parse(schedule), .threads = threads});
      Outcome outcome = world.run([&](Rank& rank) {
        rank.run().take_turn(rank);
        body(rank);
      });
      EXPECT_TRUE(outcome.failure);
      std::string text = outcome.failure->message + "\n" + outcome.failure->details;
      if (first.empty()) first = text;
      EXPECT_EQ(text, first) << schedule << " with " << threads << " threads";
    }
  return first;
}

// If this fails, a deadlock doesn't show who waits for whom.
TEST(FailureReport, FollowsTheRanksThatWaitForOneAnother) {
  EXPECT_EQ(report_of(4,
                      [](Rank& rank) {
                        if (rank.id() == 0) return;
                        Meeting meeting({rank.id() % 3 + 1});
                        wait_for(rank, meeting);
                      }),
            "[engine/deadlock] no rank can run, 3 of 4 have not returned\n"
            "  rank 0: had returned\n"
            "  rank 1: waited in meet #0 of all, a.cpp:3\n"
            "  rank 2: waited in meet #0 of all, a.cpp:3\n"
            "  rank 3: waited in meet #0 of all, a.cpp:3\n"
            "  cycle: rank 1 -> rank 2 -> rank 3 -> rank 1");
  auto wait_for_the_next = [](Rank& rank) {
    if (rank.id() == 2) return;
    Meeting meeting({rank.id() + 1});
    wait_for(rank, meeting);
  };
  EXPECT_THAT(report_of(3, wait_for_the_next),
              HasSubstr("  chain: rank 0 -> rank 1 -> rank 2, which has returned"));
  EXPECT_THAT(report_of(1,
                        [](Rank& rank) {
                          Meeting meeting({});
                          wait_for(rank, meeting);
                        }),
              HasSubstr("  rank 0 waits for any rank; none is left to send"));
}

// If this fails, the first wrong call of a long program must be looked for by hand: calls of ranks
// that only wait for the culprit are named instead of its own.
TEST(FailureReport, ShowsTheDifferenceAtTheEndOfAChain) {
  std::string text = report_of(3, [](Rank& rank) {
    if (rank.id() == 2) return;
    Meeting meeting({rank.id() + 1});
    meeting.what = rank.id() == 0 ? "call a" : "call b";
    wait_for(rank, meeting);
  });
  EXPECT_THAT(text, HasSubstr("\n  first call that differs, call b"));
  EXPECT_THAT(text, Not(HasSubstr("call a")));
}

// If this fails, one of the two sides of a cycle is left out, or a side is repeated.
TEST(FailureReport, ShowsEveryDifferenceOfACycleOnce) {
  std::string text = report_of(4, [](Rank& rank) {
    Meeting meeting({(rank.id() + 1) % 4});
    meeting.what = rank.id() % 2 == 0 ? "call a" : "call b";
    wait_for(rank, meeting);
  });
  EXPECT_THAT(text, EndsWith("-> rank 0\n  first call that differs, call a\n  first call that "
                             "differs, call b"));
}

// If this fails, the failure that is reported depends on the schedule.
TEST(FailureReport, NamesTheFirstRankThatFailed) {
  std::string text = report_of(4, [](Rank& rank) {
    if (rank.id() % 2 == 1) raise(ErrorKind::value_error, "test", "rank {} breaks", rank.id());
    rank.run().block(rank, {.operation = "waiting"});
  });
  EXPECT_EQ(text,
            "[test] rank 1 breaks\n"
            "  rank 0: waited in waiting #0, :0\n"
            "  rank 2: waited in waiting #0, :0\n"
            "  rank 3: failed: [test] rank 3 breaks");
}

// If this fails, an error of another type ends the report, or a large world prints megabytes.
TEST(FailureReport, IsBriefAndTakesEveryException) {
  World world({.ranks = 100});
  Outcome outcome = world.run([](Rank& rank) {
    if (rank.id() == 99) throw 5;
    rank.run().block(rank, {.operation = "waiting"});
  });
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->message, HasSubstr("isn't derived from std::exception"));
  EXPECT_THAT(outcome.failure->details,
              AllOf(HasSubstr("rank 63: waited"), Not(HasSubstr("rank 64: waited")),
                    HasSubstr("... and 36 more ranks")));
}

// If this fails, an exception of a library that has no text ends the program.
TEST(FailureReport, NamesTheTypeOfAnExceptionWithoutAText) {
  struct Silent : std::exception {
    const char* what() const noexcept override { return nullptr; }
  };
  EXPECT_THAT(report_of(2,
                        [](Rank& rank) {
                          if (rank.id() == 1) throw Silent();
                        }),
              AllOf(HasSubstr("an exception of type "), HasSubstr("Silent without a text")));
}

// If this fails, a schedule that can't be followed passes for a deadlock.
TEST(FailureReport, SaysWhyAScheduleCanNotBeFollowed) {
  World world({.ranks = 2, .schedule = Schedule::replay("0,0,0")});
  Outcome outcome = world.run([](Rank& rank) { rank.yield(); });
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->kind, Failure::Kind::schedule);
  EXPECT_THAT(outcome.failure->message, HasSubstr("[engine/replay]"));
}

}  // namespace
}  // namespace simmesh
