#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json safetensors_case(bool is_exact) {
  return testing::first_with("../checkpoint/safetensors.jsonl", [=](const json& each) {
    return each["byte_exact"] == is_exact && each["metadata"].is_object() != is_exact &&
           !each["tensors"].empty() && !each["tensors"][0]["shape"].empty();
  });
}

TEST(VerifySafetensors, NamesWhatDiffersInAFile) {
  json value = safetensors_case(false);
  testing::expect_passes(value);
  auto fails = [&](const char* path, const json& wrong, const std::string& phrase) {
    testing::expect_fails(value, path, wrong, phrase);
  };
  fails("/bytes", 1, "bytes: expected 1");
  fails("/sha256", std::string(64, '0'), "sha256: expected");
  fails("/header_len", 1, "header_len: expected 1");
  fails("/metadata", {{"k", "other"}}, "metadata differ");
  fails("/metadata", nullptr, "metadata differ");
  fails("/tensors", json::array(), "number of tensors: expected");
  fails("/tensors/0/name", "other", "name: expected");
  fails("/tensors/0/shape/0", 1, "shape: expected");
  fails("/tensors/0/begin", 77, "begin: expected 77");
  fails("/tensors/0/end", 77, "end: expected 77");
  fails("/tensors/0/hash", "0000000000000000", "hash: expected");
  fails("/tensors/0/data/seed", 1, "the bytes differ from the formula's");
  testing::expect_bad(value, "/tensors/0/dtype", "F31", "a dtype of safetensors");
}

TEST(VerifySafetensors, ComparesEveryByteThatIsWritten) {
  json value = safetensors_case(true);
  testing::expect_passes(value);
  testing::expect_fails(value, "/metadata", {{"k", "another"}}, "written: ");
  testing::expect_fails(value, "/tensors/0/data/seed", 1, "the first that differs is byte");
}

TEST(VerifySafetensors, NamesAVerdictThatDiffers) {
  json value = testing::first_with("../checkpoint/safetensors_bad.jsonl",
                                   [](const json& each) { return each["must"] == "reject"; });
  testing::expect_passes(value);
  testing::expect_fails(value, "/must", "accept", "verdict: expected");
  testing::expect_fails(value, "/bytes", 123456, "bytes: expected 123456");
  json good = value;
  good["file"] = "safetensors_good/dtype_u8.safetensors";
  json held = testing::first_with("../checkpoint/safetensors.jsonl",
                                  [&](const json& each) { return each["file"] == good["file"]; });
  for (const char* name : {"bytes", "sha256"}) good[name] = held[name];
  testing::expect_fails(good, "/must", "reject", "verdict: expected");
}

}  // namespace
}  // namespace simmesh
