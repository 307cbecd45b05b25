#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

TEST(VerifyPaddleCheckpoint, NamesWhatDiffers) {
  // The order of the state dict counts, and a changed case has its names in alphabetical order.
  json value = testing::first_with("../paddle/checkpoint.jsonl", [](const json& each) {
    return each["tensors"].contains("model.w") && each["contents"].contains("0_0.distcp") &&
           each["contents"]["0_0.distcp"].contains("model.w") && !each["local"].get<bool>() &&
           !each["read_items"].empty() && !each["read_items"][0].empty() &&
           testing::verify_value(each).mismatches().empty();
  });
  testing::expect_passes(value);
  auto fails = [&](const char* path, const json& wrong, const std::string& phrase) {
    testing::expect_fails(value, path, wrong, phrase);
  };
  constexpr const char* no_hash = "0000000000000000";
  fails("/files/0", "x", "files: expected");
  fails("/contents/0_0.distcp/model.w/hash", no_hash, "0_0.distcp: model.w: hash: expected");
  fails("/contents/0_0.distcp/model.w/shape/0", 77, "0_0.distcp: model.w: shape: expected");
  fails("/contents/0_0.distcp", json::object(), "0_0.distcp: model.w: not expected there");
  fails("/state/model.w/0/offset/0", 77, "model.w: shard 0: offset: expected");
  fails("/state/model.w/0/shape/0", 77, "model.w: shard 0: shape: expected");
  fails("/state/model.w/0/dtype", "float16", "model.w: shard 0: dtype: expected");
  fails("/state/model.w/0/global_shape/0", 77, "model.w: shard 0: global_shape: expected");
  fails("/state/model.w", json::array(), "model.w: number of shards: expected");
  fails("/storage/0/key", "x", "stored shard 0: key: expected");
  fails("/storage/0/offset/0", 77, "stored shard 0: offset: expected");
  fails("/storage/0/shape/0", 77, "stored shard 0: shape: expected");
  fails("/storage/0/file", "x", "stored shard 0: file: expected");
  fails("/storage", json::array(), "number of stored shards: expected");
  fails("/local", !value["local"].get<bool>(), "local: expected");
  fails("/reads/0", json::array({"x"}), "rank 0: files: expected");
  for (const char* field : {"key", "file"})
    fails((std::string("/read_items/0/0/") + field).c_str(), "x",
          std::string("exchange 0: item 0: ") + field + ": expected");
  fails("/read_items/0/0/src_rank", 77, "exchange 0: item 0: src_rank: expected 77");
  fails("/read_items/0/0/dst_ranks/0", 77, "exchange 0: item 0: dst_ranks: expected");
  for (const char* field : {"src_offset", "src_start", "dst_start", "shape", "dst_offset"})
    fails((std::string("/read_items/0/0/") + field + "/0").c_str(), 77,
          std::string("exchange 0: item 0: ") + field + ": expected");
  fails("/after/0/model.w/hash", no_hash, "rank 0: model.w: hash: expected");
  fails("/after/0", json::object(), "rank 0: model.w is not expected there");
  fails("/after", json::array(), "number of ranks: expected");
}

// Ranges are completed among one another before they are exchanged, and a rank without any part of
// a tensor has a file all the same.
TEST(VerifyPaddleCheckpoint, ComparesTheExchangesOfRanges) {
  json value = testing::first_with("../paddle/checkpoint.jsonl", [](const json& each) {
    return each["id"] == "checkpoint/1p/flat1";
  });
  testing::expect_passes(value);
  testing::expect_fails(value, "/read_items/0/0/key", "w", "exchange 0: item 0: key: expected");
  testing::expect_fails(value, "/read_items/0/1/src_offset/0", 8, "item 1: src_offset: expected");
  testing::expect_fails(value, "/read_items/1/2/dst_start/1", 3,
                        "exchange 1: item 2: dst_start: expected");
  testing::expect_fails(value, "/read_items", json::array(), "exchanges: expected 0, got 2");
  value["contents"].erase("1_0.distcp");
  EXPECT_FALSE(testing::verify_value(value).mismatches().empty());
}

}  // namespace
}  // namespace simmesh
