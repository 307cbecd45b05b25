#include "verify/replay/case_trace.h"

#include "tests/verify/replay/replay_case.h"

namespace simmesh {
namespace {

TEST(CaseTrace, NamesTheFilesThatAreNoTraces) {
  nlohmann::json value = testing::replay_case("comm_list", "comms4");
  testing::expect_passes(value);
  testing::expect_bad(value, "/files/2", "../replay/trace_bad/truncated_json/rank-0.json",
                      "traces that can be read");
  testing::expect_bad(value, "/per_rank", nlohmann::json::array({nlohmann::json::array()}),
                      "traces of 1 ranks, of which there are 4");
}

TEST(CaseTrace, AnswersCompareWithRecordedValues) {
  EXPECT_EQ(json_of(JsonValue::parse(R"({"a": [1, null, "x"], "b": true})")),
            nlohmann::json::parse(R"({"b": true, "a": [1, null, "x"]})"));
}

}  // namespace
}  // namespace simmesh
