#include "gate/explore/explore_gate.h"

#include <filesystem>
#include <gmock/gmock.h>

#include "gate/runner.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

const std::string replicated = "[mesh]\nshape = [3]\n[parallel]\nreplicate = {}\n";

GateFile explored_gate(const std::string& text) { return gate_from_text(text, "g.toml"); }

TEST(ExploreGate, EveryScheduleGivesOneDataHash) {
  GateExploration found = explore_gate(explored_gate(replicated), {.seed = 3},
                                       {.schedules = 40, .takes_certificate = false});
  EXPECT_TRUE(found.ok()) << to_text(found, {});
  EXPECT_EQ(found.schedules, 40u);
  EXPECT_GT(found.distinct, 10u);
  EXPECT_THAT(to_text(found, {}), HasSubstr("40 schedules, "));
  EXPECT_EQ(to_text(found, {.quiet = true}).find("gate"), std::string::npos);
}

// A gate has no receive from any source and shares nothing, so one run stands for all schedules.
TEST(ExploreGate, ExhaustiveGivesACertificate) {
  GateExploration found = explore_gate(explored_gate(replicated), {}, {.exhaustive = true});
  EXPECT_TRUE(found.ok()) << to_text(found, {});
  EXPECT_EQ(found.schedules, 1u);
  EXPECT_THAT(found.certificate, HasSubstr("all schedules are equivalent"));
}

// If this fails, schedules are run that can't change anything.
TEST(ExploreGate, OneRunStandsForAllSchedules) {
  GateExploration found = explore_gate(explored_gate(replicated), {}, {.schedules = 40});
  EXPECT_TRUE(found.ok()) << to_text(found, {});
  EXPECT_EQ(found.schedules, 1u);
  EXPECT_THAT(to_text(found, {}),
              HasSubstr("\n1 run stands for all schedules: no operation's result depends on the "
                        "order\n1 schedule, 1 distinct"));
}

// A failure under every schedule shrinks to FIFO, whose choices replay it.
TEST(ExploreGate, AFailureComesWithItsSchedule) {
  for (bool exhaustive : {false, true}) {
    GateExploration found =
        explore_gate(explored_gate(replicated + "[expect]\nhash = \"0000000000000000\"\n"), {},
                     {.schedules = 9, .exhaustive = exhaustive});
    EXPECT_FALSE(found.ok());
    EXPECT_EQ(found.turns, 0u);
    EXPECT_FALSE(found.choices.empty());
    EXPECT_THAT(to_text(found, {.reproduce = "again"}),
                HasSubstr("FAIL expected data hash 0000000000000000"));
    EXPECT_THAT(to_json(found, {.reproduce = "again"}), HasSubstr("\"reproduce\":\"again\""));
  }
}

// If this fails, the result depends on which thread was faster.
TEST(ExploreGate, JobsChangeNothing) {
  for (const char* expect : {"", "[expect]\nhash = \"0000000000000000\"\n"}) {
    GateFile gate = explored_gate(replicated + expect);
    ExploreRequest request{.schedules = 60, .takes_certificate = false};
    std::string one = to_text(explore_gate(gate, {.seed = 3}, request), {});
    for (std::size_t jobs : {2u, 5u}) {
      request.jobs = jobs;
      EXPECT_EQ(to_text(explore_gate(gate, {.seed = 3}, request), {}), one);
    }
  }
}

// If this fails, Ctrl-C isn't obeyed, or the results so far are lost.
TEST(ExploreGate, AnInterruptionKeepsWhatWasFound) {
  for (bool exhaustive : {false, true})
    for (std::uint64_t runs : {0u, 1u}) {
      ExploreRequest request{.schedules = 9, .exhaustive = exhaustive, .takes_certificate = false};
      request.goes_on = [&](const RunProgress& progress) { return progress.done < runs; };
      GateExploration found = explore_gate(explored_gate(replicated), {}, request);
      // One run proves the result for all schedules, so there is nothing to interrupt after it.
      EXPECT_EQ(found.interrupted, !exhaustive || runs == 0);
      EXPECT_TRUE(found.ok());
      EXPECT_EQ(found.schedules, runs);
    }
}

// An interruption while the schedule is shortened leaves the failure as it was found.
TEST(ExploreGate, AnInterruptedSearchForAShorterScheduleKeepsTheFailure) {
  ExploreRequest request{.schedules = 9};
  request.goes_on = [&](const RunProgress& progress) { return progress.what == "schedules"; };
  GateExploration found = explore_gate(
      explored_gate(replicated + "[expect]\nhash = \"0000000000000000\"\n"), {}, request);
  EXPECT_TRUE(found.interrupted);
  EXPECT_FALSE(found.ok());
  EXPECT_FALSE(found.choices.empty());
  EXPECT_THAT(to_json(found, {}), HasSubstr("\"interrupted\":true"));
}

// Runs default gates under FIFO, a seeded and a priority schedule, and with a flipped bit.
void expect_hashes_of_complete_runs(std::int64_t ranks_max) {
  for (const auto& entry :
       std::filesystem::directory_iterator(SIMMESH_SOURCE_DIR "/examples/gates")) {
    GateFile gate = read_gate(entry.path().string());
    std::shared_ptr<ReusedResults> reused = make_reused(gate, {});
    EXPECT_EQ(reused == nullptr, gate.world.shapes_only);
    if (!reused || gate.ranks() > ranks_max) continue;
    GateRunner runner(gate, {.seed = 5});
    Fault flip = Fault::flip_bit({.rank = 0, .operation = 2, .bit = 9});
    for (std::uint64_t number : {0u, 1u, 2u, 3u}) {
      GateRunner::Request request{.schedule = runner.schedule_at(number)};
      if (number == 3) request.faults = {flip};
      Outcome whole = runner.run(request).outcome;
      request.reused = reused.get();
      Outcome shared = runner.run(request).outcome;
      EXPECT_EQ(shared.data_hash, whole.data_hash) << gate.file << " " << number;
      EXPECT_EQ(shared.schedule_hash, whole.schedule_hash) << gate.file << " " << number;
      EXPECT_EQ(shared.live_storages, whole.live_storages) << gate.file;
      EXPECT_EQ(shared.ok(), whole.ok()) << gate.file;
    }
    EXPECT_GT(reused->reused(), 100u) << gate.file;
  }
}

// If this fails, what runs share changes a result, or hides one that a fault changes.
TEST(ExploreGate, SharedResultsChangeNoHashOfSmallGates) { expect_hashes_of_complete_runs(4); }
TEST(ExploreGate, DISABLED_SharedResultsChangeNoHashOfADefaultGate) {
  expect_hashes_of_complete_runs(64);
}

}  // namespace
}  // namespace simmesh
