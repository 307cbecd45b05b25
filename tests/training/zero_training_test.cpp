#include "training/zero_training.h"

#include <gtest/gtest.h>

#include "testing/gtest.h"

namespace simmesh {
namespace {

ZeroTask linear_task(std::int64_t stage) {
  ZeroTask task;
  task.model.node = {
      "", "linear", {{"in", std::int64_t(3)}, {"out", std::int64_t(2)}, {"bias", false}}, {}};
  task.model.parameters = {{"weight", {2, 3}, {.rule = Rule::small, .seed = 4}}};
  task.batch = 2;
  task.steps = 3;
  task.data = {.rule = Rule::small, .seed = 11};
  task.inputs = 3;
  task.outputs = 2;
  task.input_factor = {1, 1, 1};
  task.optimizer = optim::SgdOptions{.lr = 0.25};
  task.config.zero_allow_untested_optimizer = true;
  task.config.zero_optimization.stage = stage;
  return task;
}

// If this fails, a stage of ZeRO trains another model. All values are small integers and halves, so
// that no order of additions changes a bit.
SIMMESH_TEST(ZeroTraining, EachStageGivesTheSameSteps, {.mesh = {2}, .schedules = 2}) {
  ZeroResult plain = train_zero(linear_task(0));
  ASSERT_EQ(plain.steps.size(), 3u);
  for (std::int64_t stage : {1, 2, 3}) {
    ZeroResult found = train_zero(linear_task(stage));
    for (std::size_t step = 0; step < 3; ++step) {
      EXPECT_EQ(found.steps[step].losses, plain.steps[step].losses) << stage;
      EXPECT_SAME_BITS(found.steps[step].parameters[0], plain.steps[step].parameters[0]);
    }
    EXPECT_SAME_BITS(found.parameters[0].second, plain.parameters[0].second);
    EXPECT_TRUE(found.masters.empty());
  }
}

// If this fails, tasks without rates of their own train with those of another group.
SIMMESH_TEST(ZeroTraining, GroupsTakeTheMastersThatTheirMatchNames, {.mesh = {2}, .schedules = 2}) {
  ZeroTask frozen = linear_task(1);
  frozen.groups = {{.match = "weight", .lr = 0.0}};
  ZeroResult result = train_zero(frozen);
  EXPECT_SAME_BITS(result.parameters[0].second,
                   parameter_values(frozen.model.parameters[0], DType::float32));
}

}  // namespace
}  // namespace simmesh
