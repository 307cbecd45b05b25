#include "verify/case_world.h"

#include <gmock/gmock.h>

#include "collectives/collectives.h"
#include "core/check/error.h"

namespace simmesh {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// An option that is lost on the way would make --schedule or --arithmetic mean nothing.
TEST(CaseWorld, TakesTheWordsOfTheCommandLine) {
  WorldOptions options =
      world_options({.seed = 9, .schedule = "seeded:4", .threads = 2, .arithmetic = "exact"}, 5);
  EXPECT_EQ(options.ranks, 5u);
  EXPECT_EQ(options.seed, 9u);
  EXPECT_EQ(options.schedule.name(), Schedule::parse("seeded:4").name());
  EXPECT_EQ(options.threads, 2u);
  EXPECT_EQ(options.arithmetic.name(), "exact");
}

TEST(CaseWorld, FoldsTheHashesOfARun) {
  World world({.ranks = 2});
  CaseReport report, other;
  EXPECT_FALSE(run_case(
      world, [](Rank& rank) { rank.record(rank.id()); }, report));
  EXPECT_FALSE(run_case(
      world, [](Rank& rank) { rank.record(rank.id() + 1); }, other));
  EXPECT_FALSE(report.failed());
  EXPECT_TRUE(report.schedule_hash());
  EXPECT_NE(report.data_hash(), other.data_hash());
}

// A refusal is compared with the recorded one, so it must come back unchanged.
TEST(CaseWorld, ReturnsTheFirstRanksError) {
  World world({.ranks = 3});
  CaseReport report;
  std::optional<Error> error = run_case(
      world,
      [](Rank& rank) { raise(ErrorKind::index_error, "here", "rank {} refuses", rank.id()); },
      report);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::index_error);
  EXPECT_THAT(error->what(), HasSubstr("rank 0 refuses"));
  EXPECT_FALSE(report.data_hash());
}

// Anything but a refusal is a mismatch: a deadlock, or any other exception.
TEST(CaseWorld, TellsFailuresFromRefusals) {
  World world({.ranks = 2});
  CaseReport hung, thrown;
  EXPECT_FALSE(run_case(
      world,
      [](Rank& rank) {
        if (rank.id() == 0) barrier(ProcessGroup::world());
      },
      hung));
  EXPECT_TRUE(hung.failed());
  EXPECT_FALSE(run_case(
      world, [](Rank&) { throw std::runtime_error("no refusal"); }, thrown));
  EXPECT_THAT(thrown.mismatches(), Contains(HasSubstr("no refusal")));
  EXPECT_THROW(run_case(
                   world, [](Rank&) { throw BadCase("f:1", "broken"); }, thrown),
               BadCase);
}

}  // namespace
}  // namespace simmesh
