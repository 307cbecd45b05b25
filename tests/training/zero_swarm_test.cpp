#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/engine/schedules/random_stream.h"
#include "core/engine/world.h"
#include "training/fsdp_plan.h"
#include "training/run_record.h"
#include "training/sharded_training.h"
#include "training/zero_form.h"

// Stages 0 to 3 of ZeRO, FSDP2 and one device give the same losses, norms, gradients, parameters
// and optimiser state in exact arithmetic, whatever the settings. Draw number i is a function of i.
namespace simmesh {
namespace {

constexpr std::uint64_t draws = 1000;

// Draw makes the choices of one draw.
class Draw {
 public:
  explicit Draw(std::uint64_t index) : stream_(2025, index) {}

  bool chance(std::uint64_t one_in = 2) { return stream_.below(one_in) == 0; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + std::int64_t(stream_.below(std::uint64_t(high - low + 1)));
  }
  std::int64_t among(const std::vector<std::int64_t>& values) {
    return values[std::size_t(between(0, std::int64_t(values.size()) - 1))];
  }

 private:
  RandomStream stream_;
};

void add_linear(TrainingModel& model, const std::string& name, std::int64_t in, std::int64_t out,
                bool bias) {
  model.node.children.push_back({name, "linear", {{"in", in}, {"out", out}, {"bias", bias}}, {}});
  Formula data{.rule = Rule::unit, .seed = 50 + model.parameters.size()};
  model.parameters.push_back({name + ".weight", {out, in}, data});
  if (bias) model.parameters.push_back({name + ".bias", {out}, {.rule = Rule::unit, .seed = 9}});
}

// Returns a chain of linear layers with relu between; one may run twice or be frozen.
TrainingModel drawn_model(Draw& draw, std::int64_t inputs, std::int64_t outputs) {
  TrainingModel model;
  model.node.kind = "sequential";
  std::vector<std::string> calls;
  std::int64_t layers = draw.between(1, 4), width = inputs;
  for (std::int64_t i = 0; i < layers; ++i) {
    std::string name = "layer" + std::to_string(i), relu = "relu" + std::to_string(i);
    std::int64_t out = i + 1 == layers ? outputs : draw.between(1, 6);
    add_linear(model, name, width, out, draw.chance());
    calls.push_back(name);
    if (out == width && draw.chance()) calls.push_back(name);
    if (i + 1 < layers && draw.chance(4)) model.frozen.push_back(name + ".weight");
    if (i + 1 < layers) {
      model.node.children.push_back({relu, "relu", {}, {}});
      calls.push_back(relu);
    }
    width = out;
  }
  model.node.fields["calls"] = calls;
  return model;
}

TrainingTask drawn_task(Draw& draw, std::int64_t ranks) {
  std::int64_t inputs = draw.between(1, 5), outputs = draw.between(1, 4);
  std::int64_t rows = ranks * draw.between(1, 2);
  TrainingTask task;
  task.model = drawn_model(draw, inputs, outputs);
  task.steps = 2;
  task.micro_batches = draw.between(1, 3);
  task.terms = double(rows * outputs * task.micro_batches);
  task.batch = [=](std::int64_t step, std::int64_t micro) {
    std::uint64_t seed = std::uint64_t(1000 + 100 * step + 10 * micro);
    return Batch{formula({rows, inputs}, {.rule = Rule::unit, .seed = seed}),
                 formula({rows, outputs}, {.rule = Rule::wide, .seed = seed + 1})};
  };
  if (draw.chance())
    task.optimizer = optim::SgdOptions{
        .lr = 0.125, .momentum = draw.chance() ? 0.5 : 0.0, .weight_decay = 0.0625};
  else
    task.optimizer = AdamSpec{{.lr = 0.125, .weight_decay = 0.25}, optim::WeightDecay::decoupled};
  if (draw.chance()) task.clip = optim::ClipOptions{.max_norm = 0.25};
  return task;
}

zero::ZeroOptimization drawn_settings(Draw& draw, std::int64_t stage, std::int64_t ranks) {
  constexpr std::int64_t many = 1'000'000'000;
  zero::ZeroOptimization zero{.stage = stage};
  zero.contiguous_gradients = draw.chance();
  zero.reduce_scatter = draw.chance();
  zero.reduce_bucket_size = draw.among({1, 3, 8, 40, many});
  zero.overlap_comm = draw.chance();
  zero.use_multi_rank_bucket_allreduce = draw.chance();
  zero.round_robin_gradients = draw.chance();
  zero.parameter_alignment = draw.chance();
  zero.sub_group_size = draw.among({1, 5, many});
  zero.prefetch_bucket_size = draw.among({0, 1, 9, many});
  zero.param_persistence_threshold = draw.among({0, 4, 12, many});
  zero.model_persistence_threshold = draw.among({0, 10, many});
  zero.max_live_parameters = draw.among({0, 20, many});
  zero.max_reuse_distance = draw.among({0, 10, many});
  zero.use_all_reduce_for_fetch_params = draw.chance(4);
  zero.allgather_sequential = draw.chance(4);
  zero.zero_hpz_partition_size = ranks % 2 == 0 && draw.chance() ? 2 : 1;
  if (draw.chance(3))
    zero.offload_optimizer = zero::OffloadOptimizer{.device = zero::OffloadDevice::cpu};
  if (stage == 3 && draw.chance(3))
    zero.offload_param = zero::OffloadParam{.device = zero::OffloadDevice::cpu};
  return zero;
}

using MakeForm = std::function<ParallelForm()>;

// Trains on a world, and returns the first difference of any rank from the expected record.
std::string differences(std::int64_t ranks, const TrainingTask& task, const MakeForm& make_form,
                        std::uint64_t seed, RunRecord& record) {
  World world({.ranks = std::size_t(ranks),
               .schedule = Schedule::seeded(seed),
               .arithmetic = Arithmetic::exact()});
  std::string found;
  Outcome outcome = world.run([&](Rank& rank) {
    std::vector<nn::NamedTensor> results = named_results(train(task, make_form()));
    if (record.empty()) {
      record = copy_of(results);
    } else if (auto difference = first_difference(record, results); difference && found.empty()) {
      found = fmt::format("rank {}: {}: expected {}, got {}", rank.id(), difference->where,
                          difference->expected, difference->actual);
    }
  });
  return outcome.ok() ? found : report(outcome);
}

FsdpPlan fsdp_plan_of(const TrainingModel& model, std::int64_t ranks) {
  FsdpPlan plan;
  plan.world = ranks;
  plan.mesh = MeshPlan{{ranks}, {"dp"}, {}};
  for (const nn::ModelNode& node : model.node.children)
    if (node.kind == "linear") plan.wraps.push_back({.modules = {node.name}});
  plan.wraps.push_back({.modules = {""}});
  return plan;
}

// If this fails, a setting of ZeRO changes the results, and not only the costs.
TEST(ZeroSwarm, EveryFormGivesTheBitsOfOneDevice) {
  for (std::uint64_t i = 0; i < draws; ++i) {
    Draw draw(i);
    std::int64_t ranks = draw.between(1, 8);
    TrainingTask task = drawn_task(draw, ranks);
    RunRecord record;
    ASSERT_EQ(differences(
                  1, task, [] { return ParallelForm(); }, i, record),
              "")
        << "draw " << i;
    FsdpPlan plan = fsdp_plan_of(task.model, ranks);
    // The ranks share it: it only reads the plan.
    ShardedTraining sharded(plan, ShardedSettings());
    auto make_fsdp = [&] { return sharded.form(); };
    ASSERT_EQ(differences(ranks, task, make_fsdp, i, record), "") << "draw " << i << ", FSDP2";
    for (std::int64_t stage = 0; stage <= 3; ++stage) {
      ZeroForm zero{.config = {.zero_optimization = drawn_settings(draw, stage, ranks)}};
      auto make_zero = [&] { return zero_form(zero, ProcessGroup::world()); };
      ASSERT_EQ(differences(ranks, task, make_zero, i, record), "")
          << "draw " << i << ", stage " << stage << ", " << zero.config.to_json();
    }
  }
}

}  // namespace
}  // namespace simmesh
