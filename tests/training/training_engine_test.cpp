#include "training/training_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/autograd/variable.h"
#include "core/ops/reductions/reductions.h"
#include "training/training.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;

TrainingTask sgd_task() {
  TrainingTask task;
  task.model.node = {
      "", "linear", {{"in", std::int64_t(1)}, {"out", std::int64_t(1)}, {"bias", false}}, {}};
  task.model.parameters = {{"weight", {1, 1}, {.rule = Rule::small}, 0.0, 5.0}};
  task.optimizer = optim::SgdOptions{.lr = 0.5};
  return task;
}

// If this fails, a run on one device is no reference: its steps, or what it reports, are wrong.
TEST(LocalEngine, StepsAndReportsOnOneDevice) {
  TrainingTask task = sgd_task();
  nn::ModulePtr model = build_model(task.model);
  ParallelForm form;
  auto engine = make_local_engine(*model, task, form);
  TrainingResult result;
  for (int step = 0; step < 2; ++step) {
    engine->backward(sum((*model)(full({1, 1}, DType::float32, 4.0))));
    engine->step(result);
  }
  EXPECT_EQ(model->parameter("weight").detach().values<float>()[0], 5 - 2 * 0.5f * 4);
  ASSERT_EQ(result.norms.size(), 2u);
  EXPECT_EQ(result.norms[1].values<float>()[0], 4);
  EXPECT_EQ(result.gradients[1][0].second.values<float>()[0], 4);
  engine->report(result);
  ASSERT_EQ(result.parameters.size(), 1u);
  EXPECT_EQ(result.parameters[0].first, "weight");
}

// If this fails, what is gathered for a report only counts as communication of the training.
TEST(TrainingEngine, ReportsAreAnnounced) {
  std::vector<std::string> seen;
  ParallelForm form;
  form.at_report = [&](bool begins) { seen.push_back(begins ? "begin" : "end"); };
  EXPECT_EQ(reported(form,
                     [&] {
                       seen.push_back("work");
                       return 3;
                     }),
            3);
  EXPECT_THAT(seen, ElementsAre("begin", "work", "end"));
  EXPECT_EQ(reported(ParallelForm(), [] { return 4; }), 4);
}

}  // namespace
}  // namespace simmesh
