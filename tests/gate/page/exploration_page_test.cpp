#include "gate/page/exploration_page.h"

#include <gmock/gmock.h>

#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// The page of a failing exploration must say where the failing schedule parts from the first.
TEST(ExplorationPage, AFailingScheduleIsComparedWithTheFirst) {
  GateFile gate = gate_from_text(testing::replicated_mlp, "g.toml");
  GateExploration found{.file = "g.toml",
                        .schedules = 3,
                        .distinct = 3,
                        .failure = "expected data hash 1, got 2",
                        .report = "[engine/deadlock] no rank can run"};
  found.choices = {1};
  std::string json =
      to_json(exploration_page(gate, {}, found, {"simmesh explore g.toml", "simmesh run g.toml"}))
          .text();
  for (const char* part :
       {R"("passed":false,"expected":"data hash 0000000000000000 under every schedule")",
        R"("kind":"failure")", R"("kind":"timeline")", "the shortest failing schedule",
        R"("reproduce":"simmesh run g.toml")", R"("summary":"3 schedules, 3 distinct)"})
    EXPECT_THAT(json, HasSubstr(part));
}

TEST(ExplorationPage, SeveralGatesAreParts) {
  GatesExploration found;
  found.gates = {{.file = "a.toml", .runs = 5}, {.file = "b.toml", .runs = 5, .failure = "no"}};
  found.has_faults = true;
  std::string json = to_json(exploration_page(found, "simmesh explore")).text();
  EXPECT_THAT(json, HasSubstr(R"("summary":"2 gates, 1 failed")"));
  EXPECT_THAT(json, HasSubstr(R"(["faults reported",0])"));
}

TEST(ExplorationPage, FaultsAreCountedByKind) {
  FaultSwarm found{.file = "a.toml", .runs = 7, .counts = {{"kill", 5, 2}}};
  std::string json = to_json(exploration_page(found, "simmesh explore")).text();
  EXPECT_THAT(json, HasSubstr(R"(["kill",5,2])"));
  EXPECT_THAT(json, HasSubstr(R"("summary":"7 runs with faults")"));
}

}  // namespace
}  // namespace simmesh
