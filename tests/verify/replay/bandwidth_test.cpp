#include "tests/verify/replay/replay_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json bandwidth_case() {
  return testing::replay_case([](const json& each) { return each["kind"] == "bandwidth"; });
}

TEST(VerifyBandwidth, NamesWhatDiffers) {
  json value = bandwidth_case();
  testing::expect_passes(value);
  testing::expect_fails(value, "/group_size", 7, "rank 0");
  testing::expect_fails(value, "/per_rank/3/ops/3/moved", 1.5, "rank 3");
  testing::expect_fails(value, "/per_rank/0/ops/4/busbw", 11.23, "rank 0");
  testing::expect_fails(value, "/per_rank/0/ops/4/effective", 32.089385, "rank 0");
  testing::expect_fails(value, "/per_rank/7/shared", 0.1, "rank 7");
  testing::expect_fails(value, "/per_rank/2/ops/0/name", "all_to_all", "rank 2");
}

// A rank that is left out, or there twice, would not be compared.
TEST(VerifyBandwidth, HasEachRankOnce) {
  json value = bandwidth_case();
  testing::expect_fails(value, "/per_rank/0/rank", 8, "rank: expected 8");
  json fewer = value["per_rank"];
  fewer.erase(0);
  testing::expect_fails(value, "/per_rank", fewer, "number of ranks: expected");
}

}  // namespace
}  // namespace simmesh
