// Which gradients does a pipeline of four stages on two ranks get, and what does it hold at once?
#include <fmt/core.h>

#include <simmesh/pipeline/runtime/schedule.h>
#include <simmesh/simmesh.h>

using namespace simmesh;
using namespace simmesh::pipeline;

constexpr std::int64_t stages = 4, ranks = 2, microbatches = 4, width = 8;
using Gradients = std::vector<Tensor>;

nn::ModulePtr make_stage(std::int64_t index) {
  manual_seed(std::uint64_t(index));
  return nn::make_mlp({.width = width, .hidden = 2 * width, .out = width});
}

// A sum: a mean would depend on the number of rows.
Tensor squared_error(const nn::Tensors& outputs, const Tensor& target, const Keywords&) {
  return mse_loss(outputs[0], target, LossReduction::sum);
}

Tensor batch(std::uint64_t seed) {
  return formula({16, width}, {.rule = Rule::unit, .seed = seed});
}

Gradients train_on_one_device() {
  std::vector<nn::ModulePtr> modules;
  nn::Tensors values = {batch(1)};
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    modules.push_back(make_stage(stage));
    values = modules.back()->call(values);
  }
  backward(squared_error(values, batch(2), {}));
  Gradients gradients;
  for (const nn::ModulePtr& module : modules)
    for (const Tensor& parameter : module->parameters()) gradients.push_back(grad_of(parameter));
  return gradients;
}

void train_in_pipeline(ScheduleClass schedule, Rank& rank) {
  StageMap map = stage_map_of(schedule, {ranks, stages / ranks, microbatches});
  Gradients expected = train_on_one_device();
  std::vector<nn::ModulePtr> modules;
  std::vector<std::unique_ptr<PipelineStage>> own;
  std::vector<PipelineStage*> local;
  for (std::int64_t index : map.stages_of(std::int64_t(rank.id()))) {
    modules.push_back(make_stage(index));
    own.push_back(std::make_unique<PipelineStage>(
        *modules.back(), StageOptions{.stage_index = index, .num_stages = stages}));
    local.push_back(own.back().get());
  }
  ScheduleSettings settings{.microbatches = microbatches};
  settings.loss = squared_error;
  settings.scale_grads = false;
  StepInputs inputs;
  if (rank.id() == 0) inputs.args = {batch(1)};
  if (map.rank_of(stages - 1) == std::int64_t(rank.id())) inputs.target = batch(2);
  PipelineSchedule(schedule, local, settings).step(inputs);

  std::size_t same = 0, all = 0, held = 0;
  for (const auto& stage : own) {
    Gradients actual = stage->module().parameters();
    for (std::size_t i = 0; i < actual.size(); ++i, ++all)
      same += same_bits(grad_of(actual[i]),
                        expected[std::size_t(stage->stage_index()) * actual.size() + i]);
    held += stage->peak_states();
  }
  fmt::print("{}, rank {}: {} of {} gradients have the bits of one device; holds {} activations\n",
             to_string(schedule), rank.id(), same, all, held);
}

int main() {
  for (ScheduleClass schedule : {ScheduleClass::interleaved_1f1b, ScheduleClass::zbv_zero_bubble}) {
    World world({.ranks = ranks, .arithmetic = Arithmetic::parse("exact")});
    Outcome outcome = world.run([=](Rank& rank) { train_in_pipeline(schedule, rank); });
    if (!outcome.ok()) fmt::print("{}\n", report(outcome));
  }
}
