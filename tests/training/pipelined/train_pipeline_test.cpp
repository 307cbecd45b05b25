#include "training/pipelined/train_pipeline.h"

#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "tests/training/pipelined/plain_layer.h"
#include "training/run_record.h"

namespace simmesh {
namespace {

using testing::plain_layer;

// Four layers, whose last one has the weight of the first.
TrainingTask four_layers() {
  TrainingTask task;
  task.model.node = {
      "",
      "sequential",
      {},
      {plain_layer("a", 3), plain_layer("b", 3), plain_layer("c", 3), plain_layer("d", 3)}};
  task.model.tied = {{"d.weight", "a.weight"}};
  for (const char* name : {"a.weight", "b.weight", "c.weight"})
    task.model.parameters.push_back(
        {name,
         {3, 3},
         {.rule = Rule::unit, .seed = std::uint64_t(task.model.parameters.size() + 1)}});
  task.batch = [](std::int64_t step, std::int64_t micro) {
    Shape shape = {micro == 2 ? 1 : 2, 3};
    std::uint64_t seed = std::uint64_t(10 * step + 2 * micro + 100);
    return Batch{formula(shape, {.rule = Rule::unit, .seed = seed}),
                 formula(shape, {.rule = Rule::unit, .seed = seed + 1})};
  };
  task.steps = 2;
  task.micro_batches = 3;
  task.terms = 15;
  task.optimizer = AdamSpec{};
  task.clip = optim::ClipOptions{.max_norm = 0.05};
  return task;
}

PipelinePlan plan_of(const TrainingTask& task, const std::string& csv) {
  PipelinePlan plan{.stages = plan_stages(task.model.node, {1, 2, 1})};
  plan.boundaries.resize(3, {{{2, 3}, DType::float32, /*requires_grad=*/true}});
  plan.csv = csv;
  plan.csv_format = "compute_only";
  plan.schedule.reset();
  plan.map =
      pipeline::load_csv(csv, plan.csv_format, {.ranks = 2, .stages = 3, .microbatches = 3}).map;
  return plan;
}

// Stages of a file's rows, of unequal blocks and with micro-batches of unequal rows, with a tied
// parameter on one rank: losses, gradients, norms and updates have the bits of one device.
SIMMESH_TEST(TrainPipeline, IsOneDevice, {.mesh = {2}, .arithmetic = Arithmetic::exact()}) {
  TrainingTask task = four_layers();
  PipelinePlan plan =
      plan_of(task, "0F0,0F1,0F2,2F0,2B0,2F1,2B1,2F2,2B2,0B0,0B1,0B2\n1F0,1F1,1F2,1B0,1B1,1B2\n");
  PipelineForm pipeline{.plan = plan, .group = process_group(mesh)};
  pipeline.form_of_stage = [](std::int64_t) { return ParallelForm(); };
  RunRecord expected = copy_of(named_results(train(task)));
  auto difference = first_difference(expected, named_results(train_pipeline(task, {}, pipeline)));
  SIMMESH_CHECK(!difference, "{}: expected {}, got {}", difference->where, difference->expected,
                difference->actual);
}

}  // namespace
}  // namespace simmesh
