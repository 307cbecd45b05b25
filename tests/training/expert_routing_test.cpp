#include "training/expert_routing.h"

#include "collectives/collectives.h"
#include "core/nn/moe.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "training/sharded_training.h"

namespace simmesh {
namespace {

TrainingTask routed_task() {
  TrainingTask task;
  nn::ModelNode moe{"moe",
                    "moe",
                    {{"dim", std::int64_t(4)},
                     {"hidden", std::int64_t(3)},
                     {"experts", std::int64_t(4)},
                     {"top_k", std::int64_t(2)},
                     {"score", std::string("sigmoid")},
                     {"groups", std::int64_t(2)},
                     {"top_groups", std::int64_t(1)},
                     {"capacity_factor", 0.75},
                     {"aux_loss", 0.5},
                     {"z_loss", 0.25},
                     {"bias_rate", 0.125}},
                    {}};
  task.model.node = {"", "sequential", {}, {moe}};
  nn::ModulePtr shapes = nn::build(task.model.node, {.device = nn::Device::meta});
  std::uint64_t seed = 1;
  for (const auto& [name, parameter] : shapes->named_parameters())
    task.model.parameters.push_back(
        {name, parameter.shape(), {.rule = Rule::unit, .seed = seed++}});
  task.batch = [](std::int64_t step, std::int64_t micro) {
    std::uint64_t own = 70 + std::uint64_t(4 * step + 2 * micro);
    return Batch{formula({7, 4}, {.rule = Rule::unit, .seed = own}),
                 formula({7, 4}, {.rule = Rule::unit, .seed = own + 1})};
  };
  task.steps = 3;
  task.micro_batches = 2;
  task.terms = 2 * 7 * 4;
  task.optimizer = optim::SgdOptions{.lr = 0.1};
  return task;
}

// If this fails, the losses that balance experts, the tokens beyond a capacity, or the biases of a
// run depend on the number of ranks.
SIMMESH_TEST(ExpertRouting, UnevenRowsTrainAsOnOneDevice,
             {.mesh = {3}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  TrainingTask task = routed_task();
  TrainingResult one = train(task);
  FsdpPlan plan{.model = task.model, .world = 3, .mesh = MeshPlan{.shape = {3}}};
  plan.wraps.push_back({.modules = {""}});
  ShardedTraining sharded(plan, {.reduces_unused_params = true});
  TrainingResult cut = train(task, sharded.form());
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    EXPECT_SAME_BITS(cut.losses[i], one.losses[i]);
  for (std::size_t i = 0; i < one.parameters.size(); ++i)
    EXPECT_SAME_BITS(cut.parameters.at(i).second, one.parameters[i].second);
}

// If this fails, the router's losses have no effect on a training run, or the biases stay.
TEST(ExpertRouting, LossesAndBiasesChangeARun) {
  TrainingTask task = routed_task();
  TrainingResult with_all = train(task);
  for (const char* field : {"aux_loss", "z_loss", "bias_rate", "capacity_factor"}) {
    TrainingTask without = routed_task();
    without.model.node.children[0].fields[field] = 0.0;
    TrainingResult result = train(without);
    bool is_same = true;
    for (std::size_t i = 0; i < result.parameters.size(); ++i)
      is_same = is_same && same_bits(result.parameters[i].second, with_all.parameters[i].second);
    EXPECT_FALSE(is_same) << field;
  }
}

// If this fails, a part of the tokens stays unknown to a module, or cut sequences are taken for
// rows.
TEST(ExpertRouting, PartsAreThoseOfTheForm) {
  TrainingTask task = routed_task();
  nn::ModulePtr model = build_model(task.model);
  auto& moe = dynamic_cast<nn::Moe&>(model->find("moe"));
  ParallelForm form{.part = 1, .parts = 2, .gradient_divisor = 4};
  form.all_sum = [](const Tensor& value) { return value; };
  route_all_tokens(*model, task, form);
  EXPECT_EQ(moe.token_part().part, 1);
  EXPECT_EQ(moe.token_part().loss_gradient, 2.0);
  EXPECT_TRUE(moe.token_part().sum != nullptr);
  form.part_of_rows = [](const Tensor& rows) { return rows; };
  route_all_tokens(*model, task, form);
  EXPECT_TRUE(moe.token_part().sum == nullptr);
  update_expert_biases(*model);
}

}  // namespace
}  // namespace simmesh
