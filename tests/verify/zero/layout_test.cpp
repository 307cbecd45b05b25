#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json layout_case(bool is_sharded) {
  return testing::first_with("../zero/layout.jsonl", [=](const json& each) {
    return (each["stage"] == 3) == is_sharded && each["world"] == 3;
  });
}

TEST(VerifyZeroLayout, NamesWhatDiffersInFlatSlices) {
  json value = layout_case(false);
  testing::expect_passes(value);
  constexpr const char* no_hash = "0000000000000000";
  testing::expect_fails(value, "/expect/groups/0/order/0", "p1", "order: expected");
  testing::expect_fails(value, "/expect/groups/0/offsets/1", 1, "offsets: expected");
  testing::expect_fails(value, "/expect/groups/0/slice_numel", 1, "slice_numel: expected 1");
  testing::expect_fails(value, "/expect/groups/0/flat_hash", no_hash, "flat_hash: expected");
  testing::expect_fails(value, "/expect/groups/0/padding/2", 77, "padding: expected");
  testing::expect_fails(value, "/expect/groups/0/slice_hash/1", no_hash, "slice_hash: expected");
  testing::expect_fails(value, "/expect/groups/0/master_hash/1", no_hash, "master_hash: expected");
  testing::expect_fails(value, "/expect/groups/0/pieces/0/0/2", 1, "pieces: expected");
}

TEST(VerifyZeroLayout, NamesWhatDiffersInShards) {
  json value = layout_case(true);
  testing::expect_passes(value);
  testing::expect_fails(value, "/expect/params/0/shard_numel", 1, "p0: shard_numel: expected 1");
  testing::expect_fails(value, "/expect/params/0/ranges/0/1", 1, "p0: ranges: expected");
  testing::expect_fails(value, "/expect/params/0/hash/0", "0000000000000000", "p0: hash");
  testing::expect_fails(value, "/expect/tiles/0/numel", 1, "tile 0: numel: expected 1");
  testing::expect_fails(value, "/expect/tiles", json::array(), "number of tiles");
}

TEST(VerifyZeroLayout, BadCasesSayWhere) {
  testing::expect_bad(layout_case(true), "/stage", 1, "params in stage 3");
  testing::expect_bad(layout_case(false), "/groups/0/0", 1, "in no other group");
  testing::expect_bad(layout_case(false), "/frozen", json::array({99}), "the index of a parameter");
}

}  // namespace
}  // namespace simmesh
