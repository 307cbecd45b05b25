#include "tests/verify/replay/replay_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json memory_case(const std::string& id) {
  return testing::replay_case(
      [&](const json& each) { return each["kind"] == "memory_replay" && each["id"] == id; });
}

TEST(VerifyMemoryReplay, NamesWhatDiffers) {
  json value = memory_case("dlrm_r3_wall");
  testing::expect_passes(value);
  for (const char* name :
       {"ops", "comm_ops", "storages", "sum_bytes", "pre_views", "pre_storages", "pre_bytes",
        "leaf_storages", "leaf_bytes", "lazy_peak_bytes", "lazy_peak_node"})
    testing::expect_fails(value, fmt::format("/{}", name).c_str(), 1,
                          fmt::format("{}: expected 1", name));
  testing::expect_fails(value, "/rank", 2, "rank: expected 2");
  testing::expect_fails(value, "/device", "cuda:4", "storages: expected");
  testing::expect_bad(value, "/member", "dlrm_pytorch_et/other.json", "one that has a trace");
}

// Would fail if the figures without strides were those with them: here no view has gaps.
TEST(VerifyMemoryReplay, ComparesFiguresWithoutStrides) {
  json value = memory_case("comms4_r0_w0");
  testing::expect_passes(value);
  value["without_strides"] = {{"sum_bytes", value["sum_bytes"]}};
  testing::expect_passes(value);
  testing::expect_fails(value, "/without_strides/sum_bytes", 1, "without_strides: sum_bytes");
  testing::expect_fails(value, "/window", 1, "lazy_peak_node");
}

}  // namespace
}  // namespace simmesh
