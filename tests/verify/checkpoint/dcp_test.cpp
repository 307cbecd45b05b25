#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json dcp_case(const char* id) {
  return testing::first_with("../checkpoint/dcp.jsonl",
                             [=](const json& each) { return each["id"] == id; });
}

TEST(VerifyDcp, NamesWhatDiffersInNativeFiles) {
  json value = dcp_case("native_single");
  testing::expect_passes(value);
  auto fails = [&](const char* path, const json& wrong, const std::string& phrase) {
    testing::expect_fails(value, path, wrong, phrase);
  };
  fails("/tensors/0/fqn", "x", "no tensor x");
  fails("/tensors/0/dtype", "float16", "lin.weight: dtype: expected");
  fails("/tensors/0/shape/0", 5, "lin.weight: shape: expected");
  fails("/tensors/0/hash", "0000000000000000", "lin.weight: hash: expected");
  fails("/tensors/0/data/seed", 1, "lin.weight: the elements differ from the formula's");
  fails("/tensors/0/chunks", json::array(), "lin.weight: number of chunks: expected");
  fails("/tensors/0/chunks/0/offsets/0", 1, "chunk 0: offsets: expected");
  fails("/tensors/0/chunks/0/sizes/0", 1, "chunk 0: sizes: expected");
  fails("/tensors/0/chunks/0/file", "x", "chunk 0: file: expected");
  fails("/tensors/0/chunks/0/offset", 1, "chunk 0: offset: expected");
  fails("/tensors/0/chunks/0/length", 1, "chunk 0: length: expected");
  fails("/tensors/0/chunks/0/index", 7, "chunk 0: index: expected 7");
  fails("/tensors/0/chunks/0/data_len", 1, "lin.weight: data_len: expected");
  fails("/tensors/0/chunks/0/data_at", 3225, "lin.weight: other bytes lie at data_at");
  fails("/tensors/3", value["tensors"][0], "number of tensors: expected");
  fails("/objects/0/fqn", "x", "no object x");
  fails("/objects/0/value", 3, "cfg.depth: value: expected");
  fails("/objects/0/path/0", "x", "cfg.depth: path: expected");
  fails("/objects", json::array(), "number of objects: expected");
  fails("/objects/0/file", "x", "cfg.depth: file: expected");
  fails("/objects/0/offset", 77, "cfg.depth: offset: expected 77");
  fails("/objects/0/length", 77, "cfg.depth: length: expected 77");
  fails("/paths", json::object(), "number of paths: expected");
  fails("/paths/count/0", "x", "count: path: expected");
  fails("/paths/x", json::array(), "no path of x");
  testing::expect_bad(value, "/world", 0, "world");
}

TEST(VerifyDcp, NamesWhatDiffersInSafetensorsFiles) {
  json value = dcp_case("hf_consolidate_scalar");
  testing::expect_passes(value);
  auto fails = [&](const char* path, const json& wrong, const std::string& phrase) {
    testing::expect_fails(value, path, wrong, phrase);
  };
  constexpr const char* no_hash = "0000000000000000";
  fails("/files/model-00001-of-00001.safetensors/header_len", 1, "header_len: expected 1");
  fails("/files/model-00001-of-00001.safetensors/names/0", "x", "names: expected");
  fails("/files/model-00001-of-00001.safetensors/metadata", {{"k", "v"}}, "metadata differ");
  fails("/tensors/0/fqn", "x", "no tensor x");
  fails("/tensors/0/hash", no_hash, "w: hash: expected");
  fails("/tensors/0/chunks/0/file", "x", "w: chunk 0: file: expected");
  fails("/tensors/0/chunks/0/shape/0", 1, "w: chunk 0: shape: expected");
  fails("/tensors/0/chunks/0/offsets/0", 1, "w: chunk 0: offsets: expected");
  fails("/tensors/0/chunks/0/begin", 1, "w: chunk 0: begin: expected");
  fails("/tensors/0/chunks/0/end", 1, "w: chunk 0: end: expected");
  fails("/tensors/0/chunks/0/hash", no_hash, "w: chunk 0: hash: expected");
  fails("/tensors/0/chunks", json::array(), "w: number of chunks: expected");
  fails("/tensors/1/whole/hash", no_hash, "sc: whole: hash: expected");
  fails("/tensors/1/whole/begin", 1, "sc: whole: begin: expected");
  fails("/tensors/1/whole/equals_global", true, "sc: equals_global: expected");
}

}  // namespace
}  // namespace simmesh
