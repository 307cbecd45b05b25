#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_bad;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

// If a check never fires, steps with other bits than PyTorch's pass.
TEST(VerifyMuon, ComparesBits) {
  json bits = pipeline_case("muon.jsonl", [](const json& value) {
    return value["compare"] == "bits" && value["result"][0][0]["update"].is_object();
  });
  expect_passes(bits);
  const char* zeros = "0000000000000000";
  expect_fails(bits, "/result/0/0/update/hash", zeros, "step 0: parameter 0: update: expected");
  expect_fails(bits, "/result/0/0/momentum/hash", zeros, "momentum: expected");
  expect_fails(bits, "/result/0/0/param/hash", zeros, "param: expected");
  expect_fails(bits, "/result/0/0/param/values/0", 99.5, "param: element 0: expected 99.5");
  expect_fails(bits, "/result/0/0/update", nullptr, "update exists: expected false");
  expect_bad(bits, "/groups/0/params", {5}, "indices of parameters");
  expect_bad(bits, "/params/0/shape", {1 << 10, 1 << 10}, "elements");
}

}  // namespace
}  // namespace simmesh
