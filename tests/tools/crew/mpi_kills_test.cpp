#ifdef SIMMESH_MPIEXEC
#include <cstdlib>
#include <gmock/gmock.h>
#include <sstream>

#include "tests/temporary_folder.h"
#include "tests/tools/crew/run_under_mpi.h"

namespace simmesh {
namespace {

testing::ProgramRun train(int processes, const std::string& folder, const std::string& kill = "") {
  return testing::run_under_mpi(processes, folder + " " + kill, SIMMESH_KILLED_WORLD);
}

// A process that is killed would leave the others waiting, or half a checkpoint. SIMMESH_KILLS is
// the number of points, 4 by default.
TEST(MpiKills, AKilledProcessLeavesAWholeCheckpoint) {
  testing::TemporaryFolder whole;
  std::string expected;
  int exchanges = 0;
  std::istringstream(train(4, whole.path()).output) >> expected >> exchanges;
  ASSERT_GT(exchanges, 20);
  const char* asked = std::getenv("SIMMESH_KILLS");
  int points = asked ? std::atoi(asked) : 4;
  for (int point = 0; point < points; ++point) {
    testing::TemporaryFolder folder;
    int victim = point % 4, at = 1 + (exchanges - 2) * point / points;
    auto killed = train(4, folder.path(), std::to_string(victim) + " " + std::to_string(at));
    EXPECT_NE(killed.status, 0);
    EXPECT_THAT(killed.output, ::testing::HasSubstr("process rank " + std::to_string(victim)));
    EXPECT_THAT(killed.output, ::testing::HasSubstr("exited on signal 9 (Killed)"));
    auto resumed = train(3, folder.path());
    EXPECT_EQ(resumed.status, 0) << resumed.output;
    EXPECT_EQ(resumed.output.substr(0, expected.size()), expected)
        << "process " << victim << " was killed at exchange " << at;
  }
}

}  // namespace
}  // namespace simmesh
#endif
