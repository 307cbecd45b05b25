#include <gmock/gmock.h>

#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// Without a tolerance the loss must be equal; a tolerance is a fraction of the expected loss.
TEST(LossCheck, ComparesEachStepWithinTheTolerance) {
  double loss = testing::run_text(testing::replicated_mlp).losses[0];
  auto passes = [](double expected, double rtol) {
    return testing::check_of(
               testing::run_text(testing::replicated_mlp +
                                 fmt::format("[expect]\nloss = [{}]\nloss_rtol = {}\n", expected,
                                             rtol == 0 ? "0.0" : fmt::format("{}", rtol))),
               "loss of step 0")
        .passed;
  };
  EXPECT_TRUE(passes(loss, 0));
  EXPECT_FALSE(passes(loss * (1 + 1e-6), 0));
  EXPECT_TRUE(passes(loss * 1.01, 0.02));
  EXPECT_FALSE(passes(loss * 1.01, 0.001));
}

TEST(LossCheck, RefusesAnotherNumberOfSteps) {
  EXPECT_THAT(testing::refusal_of("[train]\nsteps = 2\n[expect]\nloss = [1.0]\n"),
              HasSubstr("one loss per step, 2 in all, got 1"));
}

}  // namespace
}  // namespace simmesh
