#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

TEST(VerifyDeepSpeed, NamesWhatDiffers) {
  json value = testing::first_with("../checkpoint/deepspeed.jsonl",
                                   [](const json& each) { return each["id"] == "z1_bf16_w2"; });
  testing::expect_passes(value);
  auto fails = [&](const char* path, const json& wrong, const std::string& phrase) {
    testing::expect_fails(value, path, wrong, phrase);
  };
  fails("/weights/0/name", "x", "no tensor x");
  fails("/weights/0/dtype", "float16", ": dtype: expected");
  fails("/weights/0/shape/0", 5, ": shape: expected");
  fails("/weights/0/hash", "0000000000000000", ": hash: expected");
  fails("/state/0/hash", "0000000000000000", ": hash: expected");
  fails("/state", json::array(), "number of tensors: expected");
  fails("/values/global_steps", 7, "global_steps: value: expected");
  fails("/values/x", 7, "no value x");
  fails("/values", json::object(), "number of values: expected");
  testing::expect_bad(value, "/ranks", 0, "ranks");
}

}  // namespace
}  // namespace simmesh
