#include "gate/explore/judged_explorations.h"

#include <gmock/gmock.h>

#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using ::testing::SizeIs;
using testing::TemporaryFolder;

TEST(JudgedExplorations, AnExploredGateIsOneCheck) {
  TemporaryFolder folder;
  GateExploration found{
      .file = folder.write("g.toml", "[mesh]\nshape = [4]\n[expect]\nschedules = 2\n")};
  EXPECT_FALSE(judged_checks(found, "")[0].finding);
  found.failure = "expected data hash 0000000000000000, got 0000000000000001";
  auto checks = judged_checks(found, "simmesh run again");
  EXPECT_EQ(checks[0].finding->rule, "gate/schedules");
  EXPECT_EQ(checks[0].finding->line, 4);
  EXPECT_EQ(checks[0].finding->got, "0000000000000001");
  EXPECT_EQ(checks[0].finding->reproduce, "simmesh run again");
  found.report = "[engine/deadlock] no rank can run";
  EXPECT_EQ(judged_checks(found, "")[0].finding->rule, "engine/deadlock");
}

TEST(JudgedExplorations, SeveralGatesAndSwarmsAreJudgedToo) {
  GatesExploration found;
  found.gates = {{.file = "a.toml"}, {.file = "b.toml", .failure = "x", .reproduce = "again"}};
  auto checks = judged_checks(found);
  ASSERT_THAT(checks, SizeIs(2));
  EXPECT_FALSE(checks[0].finding);
  EXPECT_EQ(checks[1].finding->reproduce, "again");
  FaultSwarm swarm{.file = "c.toml"};
  swarm.failure = "run 3: expected a report of the fault, got none";
  EXPECT_EQ(judged_checks(swarm)[0].finding->got, "none");
}

}  // namespace
}  // namespace simmesh
