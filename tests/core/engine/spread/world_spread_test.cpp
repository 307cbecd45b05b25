#include "core/engine/spread/world_spread.h"

#include <gtest/gtest.h>

#include "tests/core/engine/spread/silent_processes.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

std::vector<int> owners_of(const WorldSpread& spread, std::size_t ranks) {
  std::vector<int> owners;
  for (RankId rank = 0; rank < ranks; ++rank) owners.push_back(spread.owner_of({rank, ranks}));
  return owners;
}

// A process would own none of the ranks, or not neighbours.
TEST(WorldSpread, GivesNeighboursToEachProcess) {
  SilentProcesses processes;
  WorldSpread spread(processes);
  EXPECT_EQ(owners_of(spread, 6), std::vector({0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(owners_of(spread, 4), std::vector({0, 0, 1, 2}));
  EXPECT_EQ(owners_of(spread, 1), std::vector({0}));
}

// A process that isn't there would be waited for.
TEST(WorldSpread, RefusesAnOwnerThatIsNotThere) {
  SilentProcesses processes;
  WorldSpread spread(processes,
                     [](const WorldSpread::RankOfWorld& rank) { return int(rank.rank); });
  EXPECT_EQ(spread.owner_of({2, 4}), 2);
  testing::expect_error(
      [&] {
        static_cast<void>(spread.owner_of({3, 4}));
      },
      ErrorKind::value_error,
      "expected rank 3 of 4 to belong to one of 3 processes, got process 3");
}

// A scope would stay after its end, or each process would write the files of the program.
TEST(WorldSpread, IsActiveInItsScope) {
  SilentProcesses processes;
  WorldSpread spread(processes);
  EXPECT_TRUE(WorldSpread::writes_files());
  {
    SpreadScope scope(spread);
    EXPECT_EQ(WorldSpread::active(), &spread);
    EXPECT_FALSE(WorldSpread::writes_files());
  }
  EXPECT_EQ(WorldSpread::active(), nullptr);
}

}  // namespace
}  // namespace simmesh
