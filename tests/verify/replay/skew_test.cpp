#include "tests/verify/replay/replay_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json skew_case() {
  return testing::replay_case([](const json& each) { return each["kind"] == "skew"; });
}

TEST(VerifySkew, NamesWhatDiffers) {
  json value = skew_case();
  testing::expect_passes(value);
  testing::expect_fails(value, "/world", 7, "world: expected");
  testing::expect_fails(value, "/collectives/4/last_rank", 3, "last_rank");
  testing::expect_fails(value, "/collectives/7/wait/2", 847, "wait");
  testing::expect_fails(value, "/collectives/0/kernel", "ncclKernel_Other", "kernel");
  testing::expect_fails(value, "/ranks/3/exposed", 9451, "exposed");
  testing::expect_fails(value, "/ranks/3/steps/0/name", "ProfilerStep#11", "name");
  testing::expect_fails(value, "/wait_us", 46806.5, "wait_us");
}

// Would fail if a time that binary rounding changes by less than a picosecond failed.
TEST(VerifySkew, ComparesNanoseconds) {
  json value = skew_case();
  value["wait_us"] = 46806.0000000001;
  testing::expect_passes(value);
  testing::expect_fails(value, "/wait_us", 46806.001, "wait_us");
}

TEST(VerifySkew, RefusesAFileThatIsNoTimeline) {
  testing::expect_bad(skew_case(), "/file", "../replay/dlrm_pytorch_et.tar.gz",
                      "timelines that can be read");
  testing::expect_bad(skew_case(), "/file", "../replay/none.tar.gz", "timelines that can be read");
}

}  // namespace
}  // namespace simmesh
