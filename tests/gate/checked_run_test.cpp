#include "gate/checked_run.h"

#include <gmock/gmock.h>

#include "core/check/hash_text.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The report of the failed run must not end with a reproduce line of its own: the gate prints one
// that runs the gate.
TEST(CheckedRun, KeepsTheReportOfARunThatFailed) {
  GateFile gate = gate_from_text("", "g.toml");
  GateRunner runner(gate, {});
  GateResult result;
  CheckedRun checked{.gate = gate, .runner = runner, .result = result};
  World world({.ranks = 2});
  Outcome failed = world.run([](Rank& rank) {
    if (rank.id() == 1) raise(ErrorKind::value_error, "here", "an error");
  });
  checked.keep_failure(World({.ranks = 1}).run([](Rank&) {}));
  EXPECT_EQ(result.failure, "");
  checked.keep_failure(failed);
  EXPECT_THAT(result.failure, HasSubstr("an error"));
  EXPECT_THAT(result.failure, Not(HasSubstr("reproduce:")));
}

TEST(CheckedRun, SaysInOneLineHowARunEnded) {
  Outcome failed = World({.ranks = 1}).run([](Rank&) {
    raise(ErrorKind::value_error, "here", "one line\nand another");
  });
  EXPECT_EQ(ending_of(failed), "the failure of rank 0: [here] one line");
  Outcome ended = World({.ranks = 1}).run([](Rank&) {});
  EXPECT_EQ(ending_of(ended), "data hash " + hash_text(ended.data_hash));
}

}  // namespace
}  // namespace simmesh
