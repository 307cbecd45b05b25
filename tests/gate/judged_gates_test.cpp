#include "gate/judged_gates.h"

#include <gmock/gmock.h>

#include "gate/report.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::TemporaryFolder;

const std::string gate_with_checks =
    "[mesh]\nshape = [4]\n[expect]\nschedules = 2\nhash = \"0\"\n[faults]\nkill = { rank = 3 }\n";

GateResult failed_gate(const std::string& file) {
  GateResult result{.file = file, .title = {}};
  result.checks = {{"run", false, "4 ranks to return", "3"},
                   {"schedules", true, "one data hash", "one"},
                   {"hash", false, "data hash 0", "data hash 1"},
                   {"kill of rank 3 at operation 5", false, "a failure", "none"}};
  result.failure = "[engine/deadlock] no rank can run\n  rank 1: waited at train.cpp:9\n";
  result.reproduce = "simmesh run g.toml";
  return result;
}

// An editor shows a failed check at the key that asks for it.
TEST(JudgedGates, AFailedCheckHasTheLineOfItsKey) {
  TemporaryFolder folder;
  std::string file = folder.write("g.toml", gate_with_checks);
  auto checks = judged_checks(gate_block(failed_gate(file)));
  ASSERT_THAT(checks, SizeIs(4));
  EXPECT_FALSE(checks[1].finding);
  EXPECT_EQ(checks[2].suite, file);
  EXPECT_EQ(checks[2].finding->rule, "gate/hash");
  EXPECT_EQ(checks[2].finding->line, 5);
  EXPECT_EQ(checks[2].finding->expected, "data hash 0");
  EXPECT_EQ(checks[2].finding->got, "data hash 1");
  EXPECT_EQ(checks[2].finding->reproduce, "simmesh run g.toml");
  EXPECT_EQ(checks[3].finding->rule, "gate/kill");
  EXPECT_EQ(checks[3].finding->line, 7);
}

// The report belongs to the run that it is of, and says which rank and why.
TEST(JudgedGates, ARunThatFailsIsNamedAfterItsReport) {
  auto checks = judged_checks(gate_block(failed_gate("none.toml")));
  EXPECT_EQ(checks[0].finding->rule, "engine/deadlock");
  EXPECT_EQ(checks[0].finding->rank, 1);
  EXPECT_THAT(checks[0].finding->details, HasSubstr("train.cpp:9"));
  EXPECT_FALSE(checks[0].finding->line) << "there is no such file";
  EXPECT_EQ(checks[2].finding->details, "");
}

}  // namespace
}  // namespace simmesh
