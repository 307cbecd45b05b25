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

TEST(FaultsCheck, AFaultNeedsAnOperation) {
  testing::expect_error<BadGate>([] { testing::run_text("[faults]\nkill = {}\n"); },
                                 ErrorKind::value_error,
                                 "[g.toml:2:8] expected a fault at an operation");
}

}  // namespace
}  // namespace simmesh
