#include "gate/explore/fault_swarm.h"

#include <gmock/gmock.h>

#include "gate/fault_ending.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

GateFile swarmed(const std::string& parallel) {
  return gate_from_text("[mesh]\nshape = [3]\n[parallel]\n" + parallel + " = {}\n", "g.toml");
}

// If this fails, a fault goes by without a report, or a kind is never drawn.
TEST(FaultSwarm, ReportsEveryFault) {
  for (const char* parallel : {"replicate", "fsdp"}) {
    GateFile gate = swarmed(parallel);
    FaultSwarm found = run_fault_swarm(gate, {.seed = 4}, {.schedules = 120}, fault_kinds("all"));
    EXPECT_TRUE(found.ok()) << to_text(found, false);
    EXPECT_EQ(found.runs, 120u);
    std::uint64_t runs = 0, reported = 0;
    for (const FaultSwarm::Count& count : found.counts) {
      EXPECT_GT(count.reported + count.without_effect, 0u) << count.kind;
      runs += count.reported + count.without_effect;
      reported += count.reported;
    }
    EXPECT_EQ(runs, 120u);
    EXPECT_GT(reported, 60u);
  }
}

// If this fails, a seed doesn't name its faults, or the jobs change the result.
TEST(FaultSwarm, JobsChangeNothing) {
  GateFile gate = swarmed("replicate");
  auto kinds = fault_kinds("kill,flip_bit");
  std::string one = to_text(run_fault_swarm(gate, {}, {.schedules = 40}, kinds), false);
  EXPECT_EQ(to_text(run_fault_swarm(gate, {}, {.schedules = 40, .jobs = 3}, kinds), false), one);
  EXPECT_THAT(one, HasSubstr("  kill: "));
  EXPECT_EQ(one.find("starve"), one.npos);
  EXPECT_NE(to_text(run_fault_swarm(gate, {.seed = 1}, {.schedules = 40}, kinds), false), one);
  EXPECT_THAT(to_json(run_fault_swarm(gate, {}, {.schedules = 3}, kinds)), HasSubstr("\"runs\":3"));
}

// If this fails, any end of a run counts as the report of its fault.
TEST(FaultEnding, IsThatOfTheKind) {
  GateFault kill{.kind = Fault::Kind::kill, .rank = 1};
  GateFault starve{.kind = Fault::Kind::starve};
  GateFault flip{.kind = Fault::Kind::flip_bit};
  Outcome same{.data_hash = 5}, other{.data_hash = 6}, killed;
  killed.failure = Failure{.rank = 1, .message = "was killed (injected)"};
  EXPECT_TRUE(is_reported(kill, killed, 5));
  EXPECT_FALSE(is_reported(kill, same, 5));
  EXPECT_FALSE(is_reported({.kind = Fault::Kind::kill, .rank = 2}, killed, 5));
  EXPECT_TRUE(is_reported(starve, same, 5));
  EXPECT_FALSE(is_reported(starve, other, 5));
  EXPECT_TRUE(is_reported(flip, other, 5));
  EXPECT_FALSE(is_reported(flip, same, 5));
  EXPECT_EQ(expected_ending(kill, 5), "the injected failure of rank 1");
}

TEST(FaultSwarm, KnowsItsKinds) {
  EXPECT_EQ(fault_kinds("all").size(), 6u);
  EXPECT_EQ(fault_kinds("kill,kill").size(), 1u);
  testing::expect_error([] { fault_kinds("kill,x"); }, ErrorKind::value_error, "got 'x'");
  testing::expect_error([] { fault_kinds(""); }, ErrorKind::value_error, "got none");
}

}  // namespace
}  // namespace simmesh
