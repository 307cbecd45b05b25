#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

TEST(VerifyReshard, NamesWhatDiffers) {
  json value = testing::first_with("../checkpoint/reshard.jsonl", [](const json& each) {
    return each["ranks"][0].is_object() && !each["ranks"][0]["reads"].empty() &&
           each["chunks"].size() > 1;
  });
  testing::expect_passes(value);
  auto fails = [&](const char* path, const json& wrong, const std::string& phrase) {
    testing::expect_fails(value, path, wrong, phrase);
  };
  fails("/chunks", json::array(), "number of chunks: expected");
  fails("/chunks/0/offsets/0", 77, "chunk 0: offsets: expected");
  fails("/chunks/0/sizes/0", 77, "chunk 0: sizes: expected");
  fails("/chunks/0/rank", 77, "chunk 0: rank: expected 77");
  fails("/ranks", json::array(), "number of ranks: expected");
  fails("/ranks/0", nullptr, "rank 0: is in the mesh: expected");
  fails("/ranks/0/shape/0", 77, "rank 0: shape: expected");
  fails("/ranks/0/offset/0", 77, "rank 0: offset: expected");
  fails("/ranks/0/reads", json::array(), "rank 0: number of reads: expected");
  fails("/ranks/0/reads/0/chunk", 77, "rank 0: read 0: chunk: expected 77");
  fails("/ranks/0/reads/0/from/0", 77, "rank 0: read 0: from: expected");
  fails("/ranks/0/reads/0/to/0", 77, "rank 0: read 0: to: expected");
  fails("/ranks/0/reads/0/len/0", 77, "rank 0: read 0: len: expected");
  fails("/ranks/0/hash", "0000000000000000", "rank 0: hash: expected");
}

}  // namespace
}  // namespace simmesh
