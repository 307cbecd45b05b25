#include "tests/verify/replay/replay_case.h"

namespace simmesh {
namespace {

TEST(VerifyTraceSummary, NamesTheFigureThatDiffers) {
  for (const char* id : {"dlrm", "resnet_2gpu", "comms4", "gloo2"})
    testing::expect_passes(testing::replay_case("trace_summary", id));
  nlohmann::json value = testing::replay_case("trace_summary", "comms4");
  testing::expect_fails(value, "/per_rank/1/operators", 7, "operators");
  testing::expect_fails(value, "/per_rank/2/comm_by_name/barrier", 3, "barrier");
  testing::expect_fails(value, "/per_rank/0/process_groups/1/ranks", {0, 2}, "rank 0");
  testing::expect_fails(value, "/per_rank/1/file", "rank-2.json.gz", "rank 1: file: expected");
  testing::expect_fails(value, "/ranks", 5, "ranks: expected 5, got 4");
}

}  // namespace
}  // namespace simmesh
