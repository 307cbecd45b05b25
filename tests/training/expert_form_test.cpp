#include "training/expert_form.h"

#include <cmath>

#include "collectives/collectives.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/optim/clip.h"
#include "core/tensor/scalar_value.h"
#include "ddp/replicate.h"
#include "testing/gtest.h"
#include "training/run_record.h"
#include "training/sharded_training.h"
#include "training/spread_parameters.h"

namespace simmesh {
namespace {

// Five experts don't divide by two ranks.
TrainingTask expert_task() {
  TrainingTask task;
  nn::ModelNode moe{"moe",
                    "moe",
                    {{"dim", std::int64_t(4)},
                     {"hidden", std::int64_t(6)},
                     {"experts", std::int64_t(5)},
                     {"top_k", std::int64_t(2)}},
                    {}};
  task.model.node = {"", "sequential", {}, {moe}};
  nn::ModulePtr shapes = nn::build(task.model.node, {.device = nn::Device::meta});
  std::uint64_t seed = 1;
  for (const auto& [name, parameter] : shapes->named_parameters())
    task.model.parameters.push_back(
        {name, parameter.shape(), {.rule = Rule::unit, .seed = seed++}});
  task.batch = [](std::int64_t step, std::int64_t micro) {
    std::uint64_t own = 50 + std::uint64_t(4 * step + 2 * micro);
    return Batch{formula({6, 4}, {.rule = Rule::unit, .seed = own}),
                 formula({6, 4}, {.rule = Rule::unit, .seed = own + 1})};
  };
  task.steps = 3;
  task.micro_batches = 2;
  task.terms = 2 * 6 * 4;
  task.optimizer = optim::SgdOptions{.lr = 0.1, .momentum = 0.5};
  task.clip = optim::ClipOptions{.max_norm = 0.05};
  return task;
}

std::vector<Tensor> experts_of(nn::Module& model) {
  std::vector<Tensor> experts;
  for (const auto& [name, parameter] : model.named_parameters())
    if (is_expert_parameter(model, name)) experts.push_back(parameter);
  return experts;
}

// Rows are cut over both dims; experts are spread over "ep" and replicated over "dp".
ParallelForm replicated_experts(const DeviceMesh& mesh) {
  ProcessGroup rows = ProcessGroup::world(), dp = process_group(mesh, "dp");
  ParallelForm form{.part = rows.rank(), .parts = rows.size()};
  auto replication = std::make_shared<std::optional<Replication>>();
  form.prepare = [rows, dp, replication](nn::Module& model) {
    ReplicatedApart experts{experts_of(model), dp};
    replication->emplace(replicate(model, rows, {.find_unused = true, .apart = {experts}}));
  };
  form.before_micro_batch = [replication](nn::Module&, bool is_last) {
    (*replication)->set_requires_gradient_sync(is_last);
  };
  form.all_sum = [rows](const Tensor& value) { return all_reduce(value, ReduceOp::sum, rows); };
  return with_experts(std::move(form), {}, mesh["ep"]);
}

std::optional<Difference> difference_from_one_device(const ParallelForm& form) {
  TrainingTask task = expert_task();
  RunRecord one = copy_of(named_results(train(task)));
  return first_difference(one, named_results(train(task, form)));
}

SIMMESH_TEST(ExpertForm, IsOneDevice,
             {.mesh = {2, 2}, .names = {"dp", "ep"}, .arithmetic = Arithmetic::exact()}) {
  auto difference = difference_from_one_device(replicated_experts(mesh));
  EXPECT_FALSE(difference) << difference->where << ": expected " << difference->expected << ", got "
                           << difference->actual;
}

// The comparison must detect gradients of experts that are too large by the number of their ranks,
// as they are where a mean of each rank's loss is averaged.
SIMMESH_TEST(ExpertForm, GradientsThatAreTooLargeDiffer,
             {.mesh = {2, 2}, .names = {"dp", "ep"}, .arithmetic = Arithmetic::exact()}) {
  ParallelForm form = replicated_experts(mesh);
  form.after_backward = [next = form.after_backward](nn::Module& model) {
    next(model);
    for (Tensor& expert : experts_of(model))
      if (Tensor gradient = grad_of(expert); gradient.is_defined())
        set_grad(expert, mul(gradient.detach(), 2.0));
  };
  auto difference = difference_from_one_device(form);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->where, "step 0 gradient norm, element []");
}

// And when each rank of an expert group clips by the norm of the experts that it has.
SIMMESH_TEST(ExpertForm, ANormPerExpertGroupDiffers,
             {.mesh = {2, 2}, .names = {"dp", "ep"}, .arithmetic = Arithmetic::exact()}) {
  ParallelForm form = replicated_experts(mesh);
  form.prepare = [spread = form.spread, next = form.prepare](nn::Module& model) {
    next(model);
    nn::ModulePtr whole = build_meta_model(expert_task().model);
    auto is_expert = [&](const std::string& path) { return is_expert_parameter(*whole, path); };
    ProcessGroup alone = ProcessGroup::of(RankList::of({std::int64_t(this_rank().id())}), "alone");
    spread->emplace(*whole, is_expert, alone);
  };
  auto difference = difference_from_one_device(form);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->where, "step 0 gradient norm, element []");
}

// Experts are sharded over "dp", all else over "dp" and replicated over "ep".
FsdpPlan sharded_experts(const TrainingTask& task) {
  FsdpPlan plan;
  plan.world = 4;
  plan.mesh = MeshPlan{{2, 2}, {"dp", "ep"}, {"dp"}, {"ep"}};
  WrapPlan root;
  root.modules = {""};
  nn::ModulePtr shapes = build_meta_model(task.model);
  for (const auto& [name, parameter] : shapes->named_parameters())
    if (is_expert_parameter(*shapes, name))
      root.param_mesh[name] = MeshPlan{{2, 2}, {"dp", "ep"}, {"dp"}};
  plan.wraps = {root};
  return plan;
}

double gradient_norm(const TrainingResult& result, bool of_experts) {
  std::vector<Tensor> gradients;
  for (const auto& [name, gradient] : result.gradients[0])
    if ((name.find(".experts.") != name.npos) == of_experts) gradients.push_back(gradient);
  return scalar_value(optim::total_norm(gradients, 2.0));
}

// Outside of exact arithmetic fully_shard gives means, and the mean over the ranks that share an
// expert isn't that over all rows. The sums of fewer than 1000 float32 products differ from those
// of one device by less than 1000 * 2^-24 of the sum of their sizes; a wrong divisor by the factor
// of 2.
SIMMESH_TEST(ExpertForm, MeansAreOverAllRows, {.mesh = {2, 2}, .names = {"dp", "ep"}}) {
  TrainingTask task = expert_task();
  task.clip.reset();
  FsdpPlan plan = sharded_experts(task);
  ShardedTraining sharded(
      plan, {.sync = SyncMode::last, .reduces_unused_params = true, .cuts_over_mesh = true});
  TrainingResult spread = train(task, with_experts(sharded.form(), {}, mesh["ep"]));
  TrainingResult one = train(task);
  for (bool of_experts : {true, false})
    EXPECT_NEAR(gradient_norm(spread, of_experts) / gradient_norm(one, of_experts), 1.0, 1e-3);
}

}  // namespace
}  // namespace simmesh
