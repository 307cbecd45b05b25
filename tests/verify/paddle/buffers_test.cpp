#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json buffers_case(const char* what) {
  return testing::first_with("../paddle/sharding_buffers.jsonl", [=](const json& each) {
    return each["what"] == what && each["shapes"].size() > 1 &&
           (!each.contains("degree") || each["degree"] > 1);
  });
}

TEST(VerifyPaddleBuffers, NamesWhatDiffersInReduceScatterBuffers) {
  json value = buffers_case("v2_reduce_scatter");
  testing::expect_passes(value);
  testing::expect_fails(value, "/buffer_numel", 1, "buffer_numel: expected 1");
  testing::expect_fails(value, "/index/1", 1, "index: expected");
  testing::expect_fails(value, "/padded/1", 1, "padded: expected");
  testing::expect_fails(value, "/slices/0/0", {0, 1, 0}, "rank 0: parameter 0: another slice");
  testing::expect_fails(value, "/slices/0/0", nullptr, "rank 0: parameter 0: another slice");
  testing::expect_fails(value, "/slices/0", json::array(), "number of slices: expected");
  testing::expect_fails(value, "/slices", json::array(), "number of ranks: expected");
}

TEST(VerifyPaddleBuffers, NamesWhatDiffersInOtherLayouts) {
  json flat = buffers_case("flatten"), bucket = buffers_case("bucket"),
       owner = buffers_case("v1_owner"), states = buffers_case("fused_states");
  for (const json& value : {flat, bucket, owner, states}) testing::expect_passes(value);
  testing::expect_fails(flat, "/buffer_numel", 1, "buffer_numel: expected 1");
  testing::expect_fails(flat, "/offset/1", 1, "offset: expected");
  testing::expect_fails(bucket, "/groups/0/0", 77, "groups: expected");
  testing::expect_fails(owner, "/owned/0", {77}, "owned: expected");
  testing::expect_fails(states, "/buffer_numel", 1, "buffer_numel: expected 1");
  for (const char* name : {"moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc"})
    testing::expect_fails(states, (std::string("/accumulators/") + name + "/0/1").c_str(), 1,
                          std::string(name) + ": expected");
  testing::expect_fails(states, "/master/0/0", 1, "master: expected");
}

}  // namespace
}  // namespace simmesh
