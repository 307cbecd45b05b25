#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

// A check that never fires would let a wrong result pass as right.
TEST(VerifyPipelinePass, RunsEachPass) {
  for (const char* pass : {"unshard", "reduce_grad", "send_recv", "wait_send", "defer_recv",
                           "send_budget", "merge_bw", "simulate", "spacing"}) {
    json value = pipeline_case("passes.jsonl", [&](const json& candidate) {
      return candidate["pass"] == pass && candidate.contains("result");
    });
    expect_passes(value);
    expect_fails(value, "/result/0", "", "rows: expected");
  }
}

}  // namespace
}  // namespace simmesh
