#include "gate/page/gate_entry.h"

#include <gmock/gmock.h>

#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns the report of a gate as JSON.
std::string report_of(const std::string& text) {
  GateFile gate = gate_from_text(text, "g.toml");
  GateRecords records;
  GateResult result = run_gate(gate, {}, {}, &records);
  ReportedGate reported{gate, result, records};
  return to_json(gates_report({&reported, 1}, "simmesh run g.toml --report r.html")).text();
}

TEST(GateEntry, ShowsChecksMeshCollectivesAndSchedules) {
  std::string json =
      report_of(testing::replicated_mlp + "[expect]\nschedules = 3\ncertificate = false\n");
  for (const char* part :
       {R"("title":"simmesh run g.toml")", R"("summary":"3 passed, 0 failed")",
        R"("kind":"checks")", R"("kind":"mesh")", R"("uses":{"dp":"replicate"})",
        R"("kind":"timeline")", R"("kind":"memory")", R"(["all_reduce",)",
        R"("title":"Schedules tried")", "of rank 0", R"("command":"simmesh run)"})
    EXPECT_THAT(json, HasSubstr(part));
}

// A reader of the page sees what was expected, what came, and how to see it again.
TEST(GateEntry, AFailingCheckHasTheLineThatReproducesIt) {
  std::string json = report_of(testing::replicated_mlp + "[expect]\npeak_bytes_max = 1\n");
  EXPECT_THAT(json, HasSubstr(R"("passed":false,"expected":"at most 1)"));
  EXPECT_THAT(json, HasSubstr(R"("reproduce":"simmesh run g.toml")"));
  EXPECT_THAT(json, Not(HasSubstr(R"("title":"Schedules tried")")));
}

TEST(GateEntry, AMeshDimHasItsUses) {
  GateFile gate = gate_from_text(
      "[mesh]\nshape = [2, 2]\nnames = [\"rows\", \"tp\"]\n[model]\nkind = \"transformer\"\n"
      "[data]\nbatch = 4\n[parallel]\nfsdp = { mesh = \"rows\" }\ntensor = { mesh = \"tp\" }\n",
      "g.toml");
  EXPECT_THAT(gate_mesh_section(gate).text(), HasSubstr(R"("uses":{"rows":"fsdp","tp":"tensor"})"));
}

}  // namespace
}  // namespace simmesh
