#include "training/pipelined/train_pipeline.h"

#include <memory>
#include <optional>

#include "collectives/point_to_point.h"
#include "core/autograd/variable.h"
#include "core/engine/ranks/annotation.h"
#include "core/engine/ranks/rank.h"
#include "core/nn/batch_rows.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/factories.h"
#include "core/tensor/scalar_value.h"
#include "ddp/replicate.h"
#include "pipeline/runtime/schedule.h"
#include "pipeline/stage/event.h"
#include "sharding/parallel/expert_parallel.h"
#include "training/loss_sum.h"
#include "training/meta_init.h"
#include "training/pipelined/rank_stages.h"
#include "training/pipelined/stage_ranks.h"
#include "training/rank_rows.h"
#include "training/router_batch.h"
#include "training/spread_parameters.h"
#include "training/training_engine.h"

namespace simmesh {

namespace {

using pipeline::PipelineSchedule;
using pipeline::PipelineStage;

std::vector<pipeline::StepValue> examples_of(const pipeline::TensorMetas& metas) {
  Ledger::Uncharged host;
  std::vector<pipeline::StepValue> examples;
  for (const pipeline::TensorMeta& meta : metas) {
    Tensor example = empty(meta.shape, meta.dtype);
    if (meta.requires_grad) set_requires_grad(example);
    examples.emplace_back(example);
  }
  return examples;
}

// PipelineTraining is a run on one rank.
class PipelineTraining {
 public:
  PipelineTraining(const TrainingTask& task, const ParallelForm& form, const PipelineForm& pipeline)
      : task_(task),
        pipeline_(pipeline),
        ranks_(std::make_shared<const StageRanks>(
            StageRanks::Parts{pipeline.plan.stages, task.model, pipeline.plan.map, pipeline.group,
                              pipeline.experts_of_all})),
        form_(form),
        own_(pipeline.plan.map.stages_of(pipeline.group.rank())),
        model_(task.model, pipeline.plan.stages, own_,
               task.init_on_meta ? nn::Device::meta : nn::Device::cpu) {
    form_.pipeline = ranks_;
    prepare();
    if (task.init_on_meta)
      for (const nn::ModulePtr& stage : model_.stages()) init_from_meta(task.model, *stage);
    engine_ = form_.make_engine ? form_.make_engine(model_.all(), task_, form_)
                                : make_local_engine(model_.all(), task_, form_);
    routers_.emplace(model_.all(), task_, form_, pipeline.plan.routers,
                     [this](const Tensor& input) { run_whole(input); });
    make_schedule();
  }

  TrainingResult run() {
    TrainingResult result;
    std::vector<LossSum> sums;
    if (form_.load) {
      checkpoint::StateDict state = state_of_run(*engine_);
      result.first_step = form_.load(state);
      engine_->state_loaded();
    }
    for (std::int64_t step = result.first_step; step < task_.steps; ++step)
      sums.push_back(run_step(step, result));
    if (form_.save) {
      checkpoint::StateDict state = state_of_run(*engine_);
      form_.save(state);
    }
    if (form_.after_training) form_.after_training();
    if (!form_.reports) return {};
    add_losses(sums, result);
    engine_->report(result);
    add_buffers(model_.all(), form_, result);
    return result;
  }

 private:
  void prepare() {
    nn::Module& all = model_.all();
    if (form_.spread)
      form_.spread->emplace(
          all, [&](const std::string& path) { return is_expert_parameter(all, path); },
          *pipeline_.experts);
    for (std::size_t i = 0; i < own_.size(); ++i) {
      stage_forms_.push_back(pipeline_.form_of_stage(own_[i]));
      if (stage_forms_.back().prepare) stage_forms_.back().prepare(*model_.stages()[i]);
    }
    if (form_.prepare) form_.prepare(all);
  }

  bool has_last() const { return own_.back() == pipeline_.plan.stages.stages - 1; }

  std::vector<pipeline::StepValue> examples(std::int64_t boundary) const {
    const auto& boundaries = pipeline_.plan.boundaries;
    // The input of the model and its output go to no other stage.
    if (boundary < 0 || boundary + 1 == std::int64_t(boundaries.size())) boundary = 0;
    return examples_of(boundaries[std::size_t(boundary)]);
  }

  pipeline::StageOptions options_of(std::size_t i) {
    pipeline::StageOptions options{.stage_index = own_[i],
                                   .num_stages = pipeline_.plan.stages.stages,
                                   .group = pipeline_.group};
    options.input_args = examples(own_[i] - 1);
    options.output_args = examples(own_[i]);
    if (stage_forms_[i].replication) options.replication = **stage_forms_[i].replication;
    options.forward = [this](nn::Module& module, const nn::Tensors& inputs,
                             const pipeline::Keywords&) {
      std::optional<nn::BatchRows> rows;
      std::int64_t count = rows_[std::size_t(micro_batch_)];
      if (form_.parts > 1) rows.emplace(rows_of(count, form_), count);
      return module.call(inputs);
    };
    return options;
  }

  void make_schedule() {
    std::vector<PipelineStage*> stages;
    for (std::size_t i = 0; i < own_.size(); ++i) {
      stages_.push_back(std::make_unique<PipelineStage>(*model_.stages()[i], options_of(i)));
      stages.push_back(stages_.back().get());
    }
    const PipelinePlan& plan = pipeline_.plan;
    // The loss of a micro-batch is a part of that of the step, so nothing is divided.
    pipeline::ScheduleSettings settings{
        .microbatches = task_.micro_batches, .scale_grads = false, .sends = plan.sends};
    settings.loss = [this](const nn::Tensors& outputs, const Tensor& target,
                           const pipeline::Keywords&) { return loss_of(outputs[0], target); };
    if (plan.schedule)
      schedule_ = std::make_unique<PipelineSchedule>(*plan.schedule, stages, std::move(settings),
                                                     plan.options);
    else
      schedule_ = std::make_unique<PipelineSchedule>(PipelineSchedule::from_csv(
          plan.csv, plan.csv_format, stages, std::move(settings), plan.options));
  }

  Tensor loss_of(const Tensor& output, const Tensor& target) {
    Tensor terms = loss_terms(task_.loss, output, target);
    Tensor loss =
        div(simmesh::sum(terms), task_.terms / (form_.gradient_divisor * form_.gradient_factor));
    if (form_.reports) sum_.add(terms, loss);
    return loss;
  }

  // Runs a forward pass of all stages, each on what the one before it gave.
  void run_whole(const Tensor& input) {
    const pipeline::StageMap& map = pipeline_.plan.map;
    auto is_here = [&](std::int64_t stage) { return map.rank_of(stage) == pipeline_.group.rank(); };
    nn::Tensors values;
    for (std::size_t i = 0; i < own_.size(); ++i) {
      std::int64_t stage = own_[i];
      if (stage == 0) values = {input};
      if (stage > 0 && !is_here(stage - 1)) values = received_from(stage - 1);
      values = model_.stages()[i]->call(std::move(values));
      if (stage + 1 < pipeline_.plan.stages.stages && !is_here(stage + 1))
        for (const Tensor& value : values)
          send(value.detach(), {.peer = map.rank_of(stage + 1)}, pipeline_.group);
    }
  }

  nn::Tensors received_from(std::int64_t stage) const {
    nn::Tensors values;
    for (const pipeline::TensorMeta& meta : pipeline_.plan.boundaries[std::size_t(stage)])
      values.push_back(recv(meta.shape, meta.dtype,
                            {.peer = pipeline_.plan.map.rank_of(stage), .any_type = true},
                            pipeline_.group)
                           .tensor);
    return values;
  }

  void see(const pipeline::Event& event, std::int64_t step) {
    using enum pipeline::EventKind;
    bool is_forward = event.kind == forward;
    if (!is_forward && event.kind != backward && event.kind != backward_input &&
        event.kind != backward_weight)
      return;
    if (in_rank()) this_rank().heartbeat();
    micro_batch_ = event.number;
    routers_->begin_micro_batch(event.number);
    if (is_forward || began_last_ || event.number + 1 != task_.micro_batches) return;
    began_last_ = true;
    if (form_.at_phase) form_.at_phase(step, TrainPhase::backward);
  }

  pipeline::StepInputs inputs_of(std::int64_t step) {
    pipeline::StepInputs inputs{.return_outputs = false};
    rows_.clear();
    if (own_.front() == 0) inputs.arg_mbs.emplace();
    if (has_last()) inputs.target_mbs.emplace();
    for (std::int64_t micro = 0; micro < task_.micro_batches; ++micro) {
      Batch batch = task_.batch(step, micro);
      rows_.push_back(batch.input.size(0));
      if (inputs.arg_mbs) inputs.arg_mbs->push_back({part_of(batch.input, form_)});
      if (inputs.target_mbs) inputs.target_mbs->push_back(part_of(batch.target, form_));
    }
    return inputs;
  }

  LossSum run_step(std::int64_t step, TrainingResult& result) {
    sum_ = LossSum();
    began_last_ = false;
    Annotation annotation = Annotation::step(step);
    if (form_.at_phase) form_.at_phase(step, TrainPhase::forward);
    routers_->begin_step(step);
    pipeline::StepInputs inputs = inputs_of(step);
    {
      pipeline::ObserverScope observer([&](const pipeline::Event& event) { see(event, step); });
      engine_->backward_by([&] {
        schedule_->step(inputs);
        ranks_->add_tied(model_.all());
      });
    }
    for (std::size_t i = 0; i < own_.size(); ++i)
      if (stage_forms_[i].after_backward) stage_forms_[i].after_backward(*model_.stages()[i]);
    routers_->end_step();
    if (form_.at_phase) form_.at_phase(step, TrainPhase::optimizer);
    if (task_.rate_factor) engine_->set_rate_factor(task_.rate_factor(step));
    engine_->step(result);
    if (form_.after_step) form_.after_step(step, [this] { return state_of_run(*engine_); });
    return std::move(sum_);
  }

  // The last stage has the losses of the steps.
  void add_losses(const std::vector<LossSum>& sums, TrainingResult& result) {
    Ledger::Uncharged host;
    Tensor losses = zeros({std::int64_t(sums.size())}, DType::float64);
    if (has_last())
      for (std::size_t i = 0; i < sums.size(); ++i)
        if (Tensor sum = sums[i].value(task_, form_); sum.has_elements())
          losses.mutable_values<double>()[i] = scalar_value_or(sum, 0.0);
    losses = ranks_->from_last(losses);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      double loss = losses.has_elements() ? losses.values<double>()[i] : 0.0;
      if (routers_->has_losses()) loss += routers_->loss_of(i);
      result.losses.push_back(full(DimSpan(), DType::float64, loss));
    }
  }

  const TrainingTask& task_;
  const PipelineForm& pipeline_;
  std::shared_ptr<const StageRanks> ranks_;
  ParallelForm form_;
  std::vector<std::int64_t> own_;  // the stages of this rank
  RankStages model_;
  std::vector<ParallelForm> stage_forms_;
  std::unique_ptr<TrainingEngine> engine_;
  std::optional<RouterBatch> routers_;
  std::vector<std::unique_ptr<PipelineStage>> stages_;
  std::unique_ptr<PipelineSchedule> schedule_;
  LossSum sum_;                     // of the step
  std::vector<std::int64_t> rows_;  // of the micro-batches of the step
  std::int64_t micro_batch_ = 0;
  bool began_last_ = false;  // the backward pass of the last micro-batch of the step
};

}  // namespace

TrainingResult train_pipeline(const TrainingTask& task, const ParallelForm& form,
                              const PipelineForm& pipeline) {
  return PipelineTraining(task, form, pipeline).run();
}

}  // namespace simmesh
