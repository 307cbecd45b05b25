#include "training/router_batch.h"

#include <algorithm>

#include "collectives/collectives.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/chunk.h"
#include "ddp/replicate.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"
#include "training/expert_form.h"
#include "training/run_record.h"

// Decisions of routers, their losses and biases are those of one device that sees the whole step at
// once; and mistakes of real systems are found.
namespace simmesh {
namespace {

constexpr std::int64_t routed_rows = 5, routed_positions = 3, routed_width = 4;

using Fields = std::map<std::string, nn::ModelNode::Field>;

// Five rows and five experts don't divide by two ranks.
TrainingTask routed_task(const Fields& fields, std::int64_t micro_batches = 1) {
  TrainingTask task;
  nn::ModelNode first{"first", "moe", fields, {}};
  first.fields.insert({{"dim", routed_width},
                       {"hidden", std::int64_t(6)},
                       {"experts", std::int64_t(6)},
                       {"top_k", std::int64_t(2)}});
  nn::ModelNode second = first;
  second.name = "second";
  task.model.node = {"", "sequential", {}, {first, second}};
  nn::ModulePtr shapes = nn::build(task.model.node, {.device = nn::Device::meta});
  std::uint64_t seed = 1;
  for (const auto& [name, parameter] : shapes->named_parameters())
    task.model.parameters.push_back(
        {name, parameter.shape(), {.rule = Rule::unit, .seed = seed++}});
  task.batch = [micro_batches](std::int64_t step, std::int64_t micro) {
    Chunk rows = chunk_of({.size = routed_rows, .parts = micro_batches, .index = micro});
    auto values = [&](std::uint64_t of) {
      return formula({routed_rows, routed_positions, routed_width},
                     {.rule = Rule::unit, .seed = of})
          .narrow({0, rows.start, rows.length});
    };
    std::uint64_t own = 50 + 2 * std::uint64_t(step);
    return Batch{values(own), values(own + 1)};
  };
  task.steps = 2;
  task.micro_batches = micro_batches;
  task.terms = double(routed_rows * routed_positions * routed_width);
  task.optimizer = optim::SgdOptions{.lr = 0.5, .momentum = 0.5};
  return task;
}

std::vector<Tensor> experts_in(nn::Module& model) {
  std::vector<Tensor> experts;
  for (const auto& [name, parameter] : model.named_parameters())
    if (is_expert_parameter(model, name)) experts.push_back(parameter);
  return experts;
}

TokenRanking::AllSum sum_over(const ProcessGroup& group) {
  return [group](const Tensor& value) { return all_reduce(value, ReduceOp::sum, group); };
}

// Rows are cut over `rows`; gradients are summed over all ranks, those of experts over
// `of_experts`.
struct Cut {
  ProcessGroup rows = ProcessGroup::world();
  std::optional<ProcessGroup> of_experts = {};

  ParallelForm form() const {
    ParallelForm form{.part = rows.rank(), .parts = rows.size()};
    auto replication = std::make_shared<std::optional<Replication>>();
    form.prepare = [experts = of_experts, replication](nn::Module& model) {
      ReplicateOptions options{.find_unused = true};
      if (experts) options.apart = {ReplicatedApart{experts_in(model), experts}};
      replication->emplace(replicate(model, ProcessGroup::world(), options));
    };
    form.before_micro_batch = [replication](nn::Module&, bool is_last) {
      (*replication)->set_requires_gradient_sync(is_last);
    };
    form.all_sum = sum_over(ProcessGroup::world());
    return form;
  }
};

ParallelForm spread_form(const DeviceMesh& mesh) {
  Cut cut{.of_experts = process_group(mesh, "dp")};
  return with_experts(cut.form(), {}, mesh["ep"]);
}

// Rows are cut over "dp" and positions over "ep".
ParallelForm sequence_form(const DeviceMesh& mesh) {
  ProcessGroup positions = process_group(mesh, "ep");
  Cut cut{.rows = process_group(mesh, "dp"), .of_experts = process_group(mesh, "dp")};
  ParallelForm form = cut.form();
  form.part_of_rows = [positions](const Tensor& rows) {
    Chunk own =
        chunk_of({.size = rows.size(1), .parts = positions.size(), .index = positions.rank()});
    return rows.narrow({1, own.start, own.length}).contiguous();
  };
  return with_experts(std::move(form), {.tokens = Shard(1)}, mesh["ep"]);
}

// Rows are cut over both dims, experts spread over "ep", and their layers split over "dp". The
// gradients of experts are whole on their ranks, and all others are summed after the last pass.
ParallelForm column_form(const DeviceMesh& mesh) {
  ProcessGroup rows = ProcessGroup::world();
  ParallelForm form{.part = rows.rank(), .parts = rows.size()};
  form.after_backward = [rows](nn::Module& model) {
    NoGrad mode;
    KeepUnrounded scope;
    for (auto& [name, parameter] : model.named_parameters())
      if (!is_expert_parameter(model, name))
        set_grad(parameter, all_reduce(grad_of(parameter).detach(), ReduceOp::sum, rows));
  };
  form.all_sum = sum_over(rows);
  return with_experts(std::move(form), {.columns = mesh["dp"]}, mesh["ep"]);
}

RunRecord one_device(const Fields& fields) {
  return copy_of(named_results(train(routed_task(fields))));
}

void expect_one_device(const Fields& fields, const DeviceMesh& mesh) {
  RunRecord one = one_device(fields);
  for (std::int64_t micro_batches : {1, 2, 3})
    for (const ParallelForm& form :
         {ParallelForm(), Cut().form(), spread_form(mesh), sequence_form(mesh)}) {
      TrainingResult result = train(routed_task(fields, micro_batches), form);
      auto difference = first_difference(one, named_results(result));
      if (difference)
        raise(ErrorKind::runtime_error, "test", "{} micro-batches: {}: expected {}, got {}",
              micro_batches, difference->where, difference->expected, difference->actual);
    }
}

#define SIMMESH_ROUTER_TEST(name) \
  SIMMESH_TEST(                   \
      RouterBatch, name,          \
      {.mesh = {2, 2}, .names = {"dp", "ep"}, .schedules = 3, .arithmetic = Arithmetic::exact()})

SIMMESH_ROUTER_TEST(CapacityByChoiceIsThatOfTheStep) {
  expect_one_device({{"capacity_factor", 0.5}}, mesh);
}

SIMMESH_ROUTER_TEST(CapacityByPositionIsThatOfTheStep) {
  expect_one_device({{"capacity_factor", 0.75}, {"drop", std::string("position")}}, mesh);
}

SIMMESH_ROUTER_TEST(CapacityByProbabilityIsThatOfTheStep) {
  expect_one_device({{"capacity_factor", 0.5}, {"drop", std::string("probability")}}, mesh);
}

SIMMESH_ROUTER_TEST(LossesAreThoseOfTheStep) {
  expect_one_device({{"aux_loss", 0.5}, {"z_loss", 0.125}}, mesh);
}

SIMMESH_ROUTER_TEST(BiasesMoveByTheLoadsOfTheStep) {
  expect_one_device({{"bias_rate", 0.25},
                     {"score", std::string("sigmoid")},
                     {"scaling", 2.5},
                     {"groups", std::int64_t(3)},
                     {"top_groups", std::int64_t(2)},
                     {"shared", std::int64_t(1)}},
                    mesh);
}

SIMMESH_ROUTER_TEST(AllOfItTogetherWithRecomputation) {
  expect_one_device({{"bias_rate", 0.25},
                     {"score", std::string("sigmoid")},
                     {"capacity_factor", 0.75},
                     {"aux_loss", 0.5},
                     {"z_loss", 0.125},
                     {"ac", true}},
                    mesh);
}

// Experts that have columns on several ranks, each of which has tokens of its own.
SIMMESH_ROUTER_TEST(ColumnsOfExpertsTrainAsOneDevice) {
  Fields fields{{"capacity_factor", 0.75}, {"aux_loss", 0.5}, {"shared", std::int64_t(1)}};
  RunRecord one = one_device(fields);
  for (std::int64_t micro_batches : {1, 2}) {
    TrainingTask task = routed_task(fields, micro_batches);
    auto difference = first_difference(one, named_results(train(task, column_form(mesh))));
    if (difference)
      raise(ErrorKind::runtime_error, "test", "{}: expected {}, got {}", difference->where,
            difference->expected, difference->actual);
  }
}

// The biases are a part of the results, so that a run with wrong ones differs.
TEST(RouterBatch, ReportsBiases) {
  World world({.ranks = 1});
  Outcome outcome = world.run([](Rank&) {
    TrainingResult result = train(routed_task({{"bias_rate", 0.25}}));
    const auto& [name, bias] = result.parameters.back();
    EXPECT_EQ(name, "second.expert_bias");
    EXPECT_FALSE(same_bits(bias, zeros({6}, DType::float32)));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// Losses of routers are a part of the loss.
TEST(RouterBatch, ReportsLosses) {
  World world({.ranks = 1});
  Outcome outcome = world.run([](Rank&) {
    auto first_loss = [](const Fields& fields) {
      return train(routed_task(fields)).losses[0].values<double>()[0];
    };
    EXPECT_GT(first_loss({{"z_loss", 0.5}}), first_loss({}));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

TEST(RouterBatch, PlansOnlyWhatDependsOnLaterTokens) {
  auto plans = [](const Fields& fields, std::int64_t micro_batches) {
    nn::ModulePtr model = build_model(routed_task(fields).model);
    return router_needs(*model, micro_batches).plan;
  };
  EXPECT_TRUE(plans({{"capacity_factor", 1.0}}, 2));
  EXPECT_TRUE(plans({{"aux_loss", 1.0}}, 2));
  EXPECT_FALSE(plans({{"aux_loss", 1.0}}, 1));
  EXPECT_FALSE(plans({{"z_loss", 1.0}, {"bias_rate", 1.0}}, 2));
  EXPECT_FALSE(plans({{"capacity_factor", 1.0}, {"drop", std::string("none")}}, 2));
}

TEST(RouterBatch, RefusesToPlanDropout) {
  TrainingTask task = routed_task({{"aux_loss", 1.0}}, 2);
  task.model.node.children.push_back({"drop", "dropout", {{"p", 0.5}}, {}});
  testing::expect_error([&] { train(task); }, ErrorKind::value_error,
                        "expected a model without dropout");
}

// A batch that tells the routers something else than the right one.
class FaultyBatch final : public nn::MoeBatch {
 public:
  using Fault = std::function<void(const nn::Moe& moe, const nn::Routing& routing,
                                   nn::RoutingDecision& decision)>;
  FaultyBatch(nn::MoeBatch& right, const Fault& fault) : right_(right), fault_(fault) {}
  nn::RoutingDecision decide(const nn::Moe& moe, const nn::Routing& routing,
                             const Shape& x) override {
    nn::RoutingDecision decision = right_.decide(moe, routing, x);
    fault_(moe, routing, decision);
    return decision;
  }
  double add_terms(const nn::Moe& moe, const Tensor& terms) override {
    return right_.add_terms(moe, terms);
  }

 private:
  nn::MoeBatch& right_;
  Fault fault_;
};

ParallelForm with_fault(ParallelForm form, const FaultyBatch::Fault& fault) {
  auto batches = std::make_shared<std::map<nn::Moe*, FaultyBatch>>();
  form.before_micro_batch = [batches, fault, next = form.before_micro_batch](nn::Module& model,
                                                                             bool is_last) {
    for (const auto& [path, module] : model.named_modules())
      if (auto* moe = dynamic_cast<nn::Moe*>(module); moe && !batches->contains(moe))
        moe->set_batch(&batches->try_emplace(moe, *moe->batch(), fault).first->second);
    if (next) next(model, is_last);
  };
  return form;
}

// Returns where a run differs from one device; all of them must differ.
void expect_found(const Fields& fields, const ParallelForm& form) {
  TrainingResult result = train(routed_task(fields), form);
  if (!first_difference(one_device(fields), named_results(result)))
    raise(ErrorKind::runtime_error, "test", "expected a difference from one device, got none");
}

// The part of the choices that each rank's own tokens made.
SIMMESH_ROUTER_TEST(AnAuxLossPerRankIsFound) {
  auto fault = [](const nn::Moe& moe, const nn::Routing& routing, nn::RoutingDecision& decision) {
    decision.load.loads = nn::loads_of(routing.experts, moe.options().experts);
    for (std::int64_t& load : decision.load.loads) load *= 4;
  };
  expect_found({{"aux_loss", 0.5}}, with_fault(spread_form(mesh), fault));
}

SIMMESH_ROUTER_TEST(ACapacityOfEachRankIsFound) {
  auto fault = [](const nn::Moe& moe, const nn::Routing& routing, nn::RoutingDecision& decision) {
    std::int64_t own = moe.capacity_of(routing.experts.size(0));
    decision.experts = nn::assign_tokens(routing.experts, {moe.options().experts, own});
  };
  expect_found({{"capacity_factor", 0.5}}, with_fault(spread_form(mesh), fault));
}

SIMMESH_ROUTER_TEST(GradientsTooLargeByTheExpertRanksAreFound) {
  ParallelForm form = spread_form(mesh);
  form.after_backward = [next = form.after_backward](nn::Module& model) {
    if (next) next(model);
    for (Tensor& expert : experts_in(model))
      if (Tensor gradient = grad_of(expert); gradient.is_defined())
        set_grad(expert, mul(gradient.detach(), 2.0));
  };
  expect_found({{"aux_loss", 0.5}}, form);
}

SIMMESH_ROUTER_TEST(ABiasByLocalLoadsIsFound) {
  ParallelForm form = spread_form(mesh);
  form.all_sum = [next = form.all_sum](const Tensor& value) {
    return value.dtype() == DType::int64 ? value : next(value);
  };
  expect_found({{"bias_rate", 0.25}}, form);
}

SIMMESH_ROUTER_TEST(ASharedExpertScaledByTheChoicesIsFound) {
  ParallelForm form = spread_form(mesh);
  form.prepare = [next = form.prepare](nn::Module& model) {
    next(model);
    for (const auto& [path, module] : model.named_modules())
      if (auto* moe = dynamic_cast<nn::Moe*>(module))
        moe->child("shared").children()[0].second->add_hook(
            [](nn::Module&, const nn::Tensors&, const nn::Tensors& outputs) {
              return nn::Tensors{mul(outputs[0], 2.0)};
            });
  };
  expect_found({{"shared", std::int64_t(1)}}, form);
}

// A mean over ranks of each rank's mean, where ranks have one row or two.
SIMMESH_ROUTER_TEST(AZLossAveragedOverRanksIsFound) {
  auto fault = [](const nn::Moe&, const nn::Routing& routing, nn::RoutingDecision& decision) {
    decision.load.tokens = 4 * routing.experts.size(0);
  };
  expect_found({{"z_loss", 0.5}}, with_fault(spread_form(mesh), fault));
}

}  // namespace
}  // namespace simmesh
