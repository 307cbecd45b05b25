#include "tests/verify/replay/replay_case.h"

namespace simmesh {
namespace {

TEST(VerifyCommList, NamesTheCommunicationThatDiffers) {
  for (const char* id : {"dlrm", "resnet_2gpu", "comms4"})
    testing::expect_passes(testing::replay_case("comm_list", id));
  nlohmann::json value = testing::replay_case("comm_list", "comms4");
  testing::expect_fails(value, "/per_rank/1/2/in_split", {1, 2}, "rank 1");
  testing::expect_fails(value, "/per_rank/3/0/name", "allreduce", "rank 3");
  testing::expect_fails(value, "/per_rank/0/1/attrs/pg_name", "9", "rank 0");
  testing::expect_fails(value, "/per_rank/0/1/req", 10, "rank 0");
}

}  // namespace
}  // namespace simmesh
