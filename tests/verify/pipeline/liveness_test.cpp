#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_bad;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

// A check that never fires would let a wrong result pass as right.
TEST(VerifyPipelineLiveness, ComparesSlotsAndLifetimes) {
  json liveness =
      pipeline_case("liveness.jsonl", [](const json& value) { return value.contains("slots"); });
  expect_passes(liveness);
  expect_fails(liveness, "/slots", 50, "number of slots: expected 50");
  expect_fails(liveness, "/lifetimes/0/2", 7, "lifetimes: expected");
  expect_bad(liveness, "/row", "0Q0", "row of actions");
}

}  // namespace
}  // namespace simmesh
