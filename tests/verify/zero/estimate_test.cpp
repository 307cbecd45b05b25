#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json estimate_case(std::int64_t stage) {
  return testing::first_with("../zero/estimate.jsonl",
                             [=](const json& each) { return each["stage"] == stage; });
}

TEST(VerifyZeroEstimate, PassesAndNamesWhatDiffers) {
  for (std::int64_t stage : {2, 3}) {
    json value = estimate_case(stage);
    testing::expect_passes(value);
    testing::expect_fails(value, "/expect/host_bytes", 1, "host_bytes: expected 1");
    testing::expect_fails(value, "/expect/device_bytes", 1, "device_bytes: expected 1");
  }
  testing::expect_fails(estimate_case(3), "/expect/largest_layer_bytes", 1, "largest_layer_bytes");
  testing::expect_fails(estimate_case(2), "/expect/largest_layer_bytes", 1, "largest_layer_bytes");
}

TEST(VerifyZeroEstimate, BadCasesSayWhere) {
  testing::expect_bad(estimate_case(2), "/zero_init", true, "zero_init in stage 3");
}

}  // namespace
}  // namespace simmesh
