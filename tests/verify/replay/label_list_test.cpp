#include "tests/verify/replay/replay_case.h"

namespace simmesh {
namespace {

TEST(VerifyLabelList, NamesTheLabelThatDiffers) {
  for (const char* id : {"gloo2", "comms4"})
    testing::expect_passes(testing::replay_case("label_list", id));
  nlohmann::json value = testing::replay_case("label_list", "gloo2");
  testing::expect_fails(value, "/per_rank/1/0/in/0/1", 4, "rank 1");
  testing::expect_fails(value, "/per_rank/0/3/name", "c10d::send", "rank 0");
}

}  // namespace
}  // namespace simmesh
