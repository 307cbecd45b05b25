#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/engine/ranks/rank.h"
#include "core/nn/containers.h"
#include "core/nn/model_node.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"
#include "pipeline/runtime/schedule.h"

namespace simmesh::testing {

// SmallPipeline is a pipeline of linear layers and relus, of small integers, whose sums don't
// round: a schedule must give the bits of one device.
struct SmallPipeline {
  std::int64_t stages = 2;
  std::int64_t microbatches = 4;
  std::int64_t rows = 8;
  std::int64_t width = 3;
  bool scale_grads = true;
  DType dtype = DType::float64;

  Tensor input(std::uint64_t seed = 1) const {
    return formula({rows, width}, {.rule = Rule::small, .seed = seed, .dtype = dtype});
  }
  Tensor target(std::uint64_t seed = 2) const { return input(seed + 1000); }

  // stage returns the module of a stage, filled with the values of its number.
  nn::ModulePtr stage(std::int64_t index) const {
    nn::ModelNode linear{"linear", "linear", {{"in", width}, {"out", width}, {"bias", true}}, {}};
    nn::ModelNode node{"", "sequential", {}, {linear, {"relu", "relu", {}, {}}}};
    nn::ModulePtr module = nn::build(node, {.dtype = dtype, .device = nn::Device::meta});
    module->to_empty();
    std::uint64_t seed = 100 * std::uint64_t(index) + 7;
    for (auto& [name, parameter] : module->named_parameters()) {
      Tensor data = parameter.detach();
      copy_(data,
            formula(parameter.shape(), {.rule = Rule::small, .seed = seed++, .dtype = dtype}));
    }
    return module;
  }

  // loss is the sum of products with the target.
  static Tensor loss(const nn::Tensors& outputs, const Tensor& target, const pipeline::Keywords&) {
    return sum(mul(outputs.at(0), target));
  }

  pipeline::ScheduleSettings settings() const {
    pipeline::ScheduleSettings settings{.microbatches = microbatches};
    settings.loss = loss;
    settings.scale_grads = scale_grads;
    return settings;
  }
};

// Gradients are those of parameters by stage and name.
using Gradients = std::map<std::string, Tensor>;

inline void add_gradients(nn::Module& module, std::int64_t stage, Gradients& gradients) {
  for (const auto& [name, parameter] : module.named_parameters()) {
    Tensor gradient = grad_of(parameter);
    gradients[std::to_string(stage) + "." + name] =
        gradient.is_defined() ? gradient.detach().clone() : Tensor();
  }
}

// gradients_of_one_device returns the sum of the gradients of `calls` batches, of seeds from 1 on,
// each divided by the number of micro-batches where gradients are scaled.
inline Gradients gradients_of_one_device(const SmallPipeline& pipeline, std::int64_t calls = 1) {
  Gradients total;
  for (std::int64_t call = 0; call < calls; ++call) {
    std::vector<nn::ModulePtr> modules;
    nn::Tensors values = {pipeline.input(std::uint64_t(call) + 1)};
    for (std::int64_t stage = 0; stage < pipeline.stages; ++stage) {
      modules.push_back(pipeline.stage(stage));
      values = modules.back()->call(values);
    }
    backward(SmallPipeline::loss(values, pipeline.target(std::uint64_t(call) + 1), {}));
    Gradients gradients;
    for (std::int64_t stage = 0; stage < pipeline.stages; ++stage)
      add_gradients(*modules[std::size_t(stage)], stage, gradients);
    for (auto& [name, gradient] : gradients) {
      Tensor own = pipeline.scale_grads ? div(gradient, double(pipeline.microbatches)) : gradient;
      Tensor& sum = total[name];
      sum = sum.is_defined() ? add(sum, own) : own;
    }
  }
  return total;
}

// LocalPipeline is the stages of one rank and their schedule.
class LocalPipeline {
 public:
  using MakeSchedule =
      std::function<pipeline::PipelineSchedule(std::vector<pipeline::PipelineStage*>)>;

  LocalPipeline(const SmallPipeline& pipeline, const std::vector<std::int64_t>& own,
                const MakeSchedule& make)
      : pipeline_(pipeline) {
    std::vector<pipeline::PipelineStage*> stages;
    for (std::int64_t stage : own) {
      modules_.push_back(pipeline.stage(stage));
      stages_.push_back(std::make_unique<pipeline::PipelineStage>(
          *modules_.back(),
          pipeline::StageOptions{.stage_index = stage, .num_stages = pipeline.stages}));
      stages.push_back(stages_.back().get());
    }
    schedule_ = std::make_unique<pipeline::PipelineSchedule>(make(stages));
  }

  pipeline::PipelineSchedule& schedule() { return *schedule_; }
  const std::vector<std::unique_ptr<pipeline::PipelineStage>>& stages() const { return stages_; }
  std::vector<Tensor>& losses() { return losses_; }

  // inputs returns the arguments of a call on this rank, of a seed.
  pipeline::StepInputs inputs(std::uint64_t seed = 1) {
    pipeline::StepInputs inputs;
    for (const auto& stage : stages_) {
      if (stage->is_first()) inputs.args = {pipeline_.input(seed)};
      if (stage->is_last()) {
        inputs.target = pipeline_.target(seed);
        inputs.losses = &losses_;
      }
    }
    return inputs;
  }

  Gradients gradients() const {
    Gradients gradients;
    for (std::size_t i = 0; i < stages_.size(); ++i)
      add_gradients(*modules_[i], stages_[i]->stage_index(), gradients);
    return gradients;
  }

 private:
  const SmallPipeline& pipeline_;
  std::vector<nn::ModulePtr> modules_;
  std::vector<std::unique_ptr<pipeline::PipelineStage>> stages_;
  std::unique_ptr<pipeline::PipelineSchedule> schedule_;
  std::vector<Tensor> losses_;
};

// local_pipeline returns the stages of a rank under a class of schedules.
inline LocalPipeline local_pipeline(const SmallPipeline& pipeline, pipeline::ScheduleClass schedule,
                                    const Rank& rank, std::int64_t ranks,
                                    const pipeline::ScheduleOptions& options = {}) {
  pipeline::ScheduleShape shape{.ranks = ranks,
                                .stages_per_rank = pipeline.stages / ranks,
                                .microbatches = pipeline.microbatches};
  auto own = pipeline::stage_map_of(schedule, shape).stages_of(std::int64_t(rank.id()));
  return LocalPipeline(pipeline, own, [&](const std::vector<pipeline::PipelineStage*>& stages) {
    return pipeline::PipelineSchedule(schedule, stages, pipeline.settings(), options);
  });
}

// difference_of returns the names of gradients that aren't those expected, empty for none.
inline std::string difference_of(const Gradients& actual, const Gradients& expected) {
  std::string names;
  for (const auto& [name, gradient] : actual) {
    const Tensor& wanted = expected.at(name);
    bool is_same = gradient.is_defined() && wanted.is_defined() && same_bits(gradient, wanted);
    if (!is_same) names += name + " ";
  }
  return names;
}

}  // namespace simmesh::testing
