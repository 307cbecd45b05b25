#include "gate/records/run_recorder.h"

#include <gmock/gmock.h>

#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> kinds_of(const JsonValue::List& sections) {
  std::vector<std::string> kinds;
  for (const JsonValue& section : sections)
    kinds.push_back(*section.find("kind")->get<std::string>());
  return kinds;
}

const std::string sharded_gate_text = R"(
[mesh]
shape = [2]
[model]
width = 6
hidden = 5
out = 4
[data]
batch = 4
[parallel]
fsdp = {}
[expect]
schedules = 3
certificate = false
)";

// A report shows the run that is checked: recording must change neither its bits nor its schedule.
TEST(RunRecorder, ChangesNothingOfTheRun) {
  for (const std::string& device : {std::string(), std::string("[device]\nlaunch_us = 1.0\n")}) {
    GateFile gate = gate_from_text(sharded_gate_text + device, "g.toml");
    GateRecords records;
    GateResult plain = run_gate(gate), recorded = run_gate(gate, {}, {}, &records);
    EXPECT_EQ(testing::text_of(plain), testing::text_of(recorded));
    EXPECT_THAT(kinds_of(records.sections), ElementsAre("shardings", "timeline", "memory"));
    EXPECT_EQ(records.schedules.size(), 2u);
    EXPECT_FALSE(records.collectives.empty());
  }
}

TEST(RunRecorder, EachOfManyRunsHasATightBound) {
  EXPECT_EQ(RecordLimits::each(1).spans, RecordLimits().spans);
  EXPECT_LT(RecordLimits::each(40).spans * 40, RecordLimits().spans);
}

}  // namespace
}  // namespace simmesh
