#include <gmock/gmock.h>

#include "tests/expect_error.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

TEST(FaultsCheck, ReportsEveryFault) {
  std::string on_three = testing::replicated_mlp;
  on_three.replace(on_three.find("[2]"), 3, "[3]");
  GateResult result = testing::run_text(on_three + R"([train]
steps = 2
[expect]
schedules = 4
[faults]
kill = [{ rank = 2, at = "step 1 backward" }, { at = "operation 1" }]
starve = { rank = 1 }
abandon = { rank = 1 }
flip_bit = { rank = 0, at = "step 1 forward", bit = 2 }
fail_allocation = { rank = 2, allocation = 9 }
call_another = { rank = 1, at = "step 0 backward" }
)");
  EXPECT_EQ(result.failed(), 0) << testing::text_of(result);
  EXPECT_THAT(testing::check_of(result, "kill of rank 2 at operation 7").actual,
              HasSubstr("killed"));
}

const std::string staged =
    "[mesh]\nshape = [2, 2]\nnames = [\"dp\", \"pp\"]\n[model]\nlayers = 4\n[parallel]\n"
    "replicate = {}\npipeline = { mesh = \"pp\", schedule = \"LoopedBFS\" }\n"
    "[train]\nsteps = 2\nmicro_batches = 2\nclip_grad_norm = 0.5\n";

// A stage is on the rank of its schedule, whose messages take faults as collectives do.
TEST(FaultsCheck, ReportsFaultsInAStage) {
  GateResult result = testing::run_text(staged + R"([expect]
schedules = 4
[faults]
kill = { stage = 2, at = "step 0 backward" }
starve = { stage = 3 }
abandon = { stage = 1, at = "step 0 forward" }
flip_bit = [{ stage = 0, at = "operation 6", bit = 20 }, { stage = 3, bit = 21 }]
fail_allocation = { stage = 1, allocation = 9 }
call_another = { stage = 0, at = "step 0 optimizer" }
)");
  EXPECT_EQ(result.failed(), 0) << testing::text_of(result);
  EXPECT_THAT(testing::text_of(result), HasSubstr("pass kill of rank 0 at operation"));
  EXPECT_THAT(testing::text_of(result), HasSubstr("pass starve of rank 1:"));
}

TEST(FaultsCheck, RefusesStagesThatAreNotThere) {
  testing::expect_refused(staged + "[faults]\nkill = { stage = 4 }\n", "from 0 to 3, got 4");
  testing::expect_refused(staged + "[faults]\nkill = { stage = 0, rank = 1 }\n",
                          "key 'faults.kill.stage': expected either a rank or a stage");
  testing::expect_refused(testing::replicated_mlp + "[faults]\nkill = { stage = 0 }\n",
                          "expected no such key in a gate without parallel.pipeline");
}

TEST(FaultsCheck, AFaultNeedsAnOperation) {
  testing::expect_error<BadGate>([] { testing::run_text("[faults]\nkill = {}\n"); },
                                 ErrorKind::value_error,
                                 "[g.toml:2:8] expected a fault at an operation");
}

}  // namespace
}  // namespace simmesh
