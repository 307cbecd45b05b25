#include "gate/explore/explored_gate.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

GateFile gate_of_three(const std::string& expect = "") {
  return gate_from_text("[mesh]\nshape = [3]\n[parallel]\nreplicate = {}\n" + expect, "g.toml");
}

ExploreRequest runs_of(std::uint64_t first, std::int64_t count, std::uint64_t first_hash) {
  return {.schedules = count, .first = first, .first_hash = first_hash, .takes_certificate = false};
}

// The text has all that an exploration without a title and a chance says.
std::string text_of(const ExploredGate& gate) {
  GateExploration seen = gate.seen;
  seen.file = seen.title = seen.escape = "";
  FaultSwarm swarm = gate.swarm;
  swarm.file = swarm.title = "";
  return gate.has_faults ? to_text(swarm, false) : to_text(seen, {.reproduce = gate.reproduce});
}

// If this fails, runs in parts have another result than in one piece.
TEST(ExploredGate, PartsAreAppendedToTheWhole) {
  GateFile gate = gate_of_three();
  for (const std::vector<Fault::Kind>& kinds : {std::vector<Fault::Kind>(), fault_kinds("all")}) {
    ExploredGate whole = explore_runs(gate, {.seed = 3}, runs_of(0, 40, 0), kinds);
    ExploredGate parts{.has_faults = !kinds.empty()};
    for (std::uint64_t first : {0u, 10u, 30u})
      parts.append(explore_runs(gate, {.seed = 3},
                                runs_of(first, first == 10 ? 20 : 10, parts.data_hash()), kinds));
    EXPECT_EQ(parts.runs(), 40u);
    EXPECT_EQ(text_of(parts), text_of(whole));
    EXPECT_FALSE(parts.is_over());
    EXPECT_EQ(text_of(explored_gate_from(to_json(whole))), text_of(whole));
  }
}

TEST(ExploredGate, KeepsAFailureAndItsSchedule) {
  GateFile gate = gate_of_three("[expect]\nhash = \"0000000000000000\"\n");
  ExploredGate found = explore_runs(gate, {.seed = 3}, runs_of(0, 9, 0), {});
  EXPECT_TRUE(found.is_over());
  EXPECT_EQ(found.reproduce.rfind("simmesh run g.toml --seed 3 --schedule choices:", 0), 0u);
  ExploredGate read = explored_gate_from(to_json(found));
  EXPECT_EQ(text_of(read), text_of(found));
  EXPECT_EQ(read.seen.choices, found.seen.choices);
  ExploredGate end = found.without_runs();
  EXPECT_EQ(end.runs(), 0u);
  EXPECT_EQ(end.failure(), found.failure());
  EXPECT_TRUE(end.is_over());
}

TEST(ExploredGate, OneRunMayStandForAll) {
  ExploredGate found = explore_runs(gate_of_three(), {}, {.schedules = 9}, {});
  EXPECT_TRUE(found.is_certain());
  EXPECT_TRUE(explored_gate_from(to_json(found)).is_over());
}

TEST(ExploredGate, RefusesWhatIsNone) {
  JsonValue value = to_json(explore_runs(gate_of_three(), {}, {.schedules = 1}, {}));
  for (const char* key : {"runs", "failure", "data_hash", "schedules", "choices"}) {
    JsonValue broken = value;
    broken.set(key, true);
    testing::expect_error([&] { explored_gate_from(broken); }, ErrorKind::value_error, key);
  }
}

}  // namespace
}  // namespace simmesh
