#include "verify/pipeline/run_train.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/nn/module.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/functions/reordering.h"
#include "core/ops/neural/losses.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/views.h"
#include "ddp/replicate.h"
#include "fsdp/fully_shard.h"
#include "fsdp/state/event_fields.h"
#include "fsdp/state/state.h"
#include "pipeline/stage/event.h"
#include "sharding/dtensor/dtensor.h"
#include "training/fsdp_plan.h"
#include "verify/case_bits.h"
#include "verify/pipeline/stage_modules.h"

namespace simmesh {

namespace {

using nlohmann::json;
using pipeline::PipelineStage;
using pipeline::StepValue;

json to_json(const pipeline::Event& event, bool hashes) {
  using Kind = pipeline::EventKind;
  json fields = {std::string(pipeline::to_string(event.kind))};
  switch (event.kind) {
    case Kind::preconnect: break;
    case Kind::infer_forward:
    case Kind::infer_backward:
    case Kind::start_reduction:
    case Kind::wait_reduction: fields.push_back(event.stage); break;
    case Kind::send_meta:
    case Kind::recv_meta:
      fields.push_back(event.stage);
      fields.push_back(event.peer_stage);
      break;
    case Kind::action: fields.push_back(event.text); break;
    case Kind::loss: fields.push_back(event.number); break;
    case Kind::wait: fields.push_back(json::array({event.number})); break;
    case Kind::post: {
      json messages = json::array();
      for (const pipeline::PostedTensor& message : event.messages) {
        json entry = {message.is_send ? "isend" : "irecv", message.peer,
                      std::vector<std::int64_t>(message.shape.begin(), message.shape.end())};
        if (message.is_send && hashes) entry.push_back(bits_text(message.sent));
        messages.push_back(std::move(entry));
      }
      fields.push_back(std::move(messages));
      break;
    }
    default:
      fields.push_back(event.stage);
      fields.push_back(event.number);
      if (event.is_last) fields.push_back("last");
  }
  return fields;
}

bool is_recorded_kind(fsdp::EventKind kind) {
  using Kind = fsdp::EventKind;
  return kind == Kind::unshard || kind == Kind::wait || kind == Kind::reshard ||
         kind == Kind::all_gather || kind == Kind::reduce_scatter;
}

Tensor loss_of(const std::string& name, const Tensor& x, const Tensor& y) {
  if (name == "mse") return mse_loss(x, y);
  if (name == "cross_entropy") {
    std::int64_t classes = x.size(-1);
    return cross_entropy(reshape(x, {-1, classes}), reshape(y, {-1}));
  }
  Tensor product = mul(x, y);
  if (name == "dot_rows") return sum(product, Dims{-1});
  Tensor total = sum(product);
  return name == "dot" ? div(total, double(x.size(0))) : total;
}

Tensor part_of_data(const Tensor& whole, const PipelineCase& plan, std::int64_t data_rank) {
  if (plan.data_ranks == 1) return whole;
  return shard_part(whole, 0, plan.data_ranks, data_rank);
}

Tensor whole_tensor(const Tensor& tensor) {
  Tensor copy = tensor.distribution() ? DTensor::of(tensor).full_tensor() : tensor;
  return copy.detach().clone();
}

std::vector<StepValue> examples(const std::vector<GivenTensor>& given) {
  std::vector<StepValue> values;
  for (const GivenTensor& one : given) {
    if (one.number) {
      values.emplace_back(*one.number);
      continue;
    }
    Tensor tensor = one.meta ? zeros(one.meta->shape, one.meta->dtype) : Tensor();
    if (one.meta && one.meta->requires_grad) set_requires_grad(tensor);
    values.emplace_back(std::move(tensor));
  }
  return values;
}

// Raises as Python does where a stage is called without its input.
void require_input(const nn::Tensors& inputs) {
  if (inputs.empty() || !inputs[0].is_defined())
    raise(ErrorKind::type_error, "verify/pipeline", "expected the input of a stage, got none");
}

// Multiplies the input of a stage by a keyword argument first.
pipeline::StageForward gain_forward(const std::string& name) {
  return [name](nn::Module& module, const nn::Tensors& inputs, const pipeline::Keywords& keywords) {
    auto found = keywords.find(name);
    if (found == keywords.end())
      raise(ErrorKind::key_error, "verify/pipeline", "expected the keyword argument '{}'", name);
    require_input(inputs);
    nn::Tensors scaled = inputs;
    if (const auto* tensor = std::get_if<Tensor>(&found->second))
      scaled[0] = mul(scaled[0], *tensor);
    else
      scaled[0] = mul(scaled[0], std::get<double>(found->second));
    return module.call(scaled);
  };
}

// Takes keywords that the module ignores, as a stage of the recorded system does.
nn::Tensors plain_forward(nn::Module& module, const nn::Tensors& inputs,
                          const pipeline::Keywords&) {
  require_input(inputs);
  return module.call(inputs);
}

}  // namespace

struct PipelineRank::Parts {
  const PipelineCase& plan;
  const Rank& rank;
  bool hashes;
  DeviceMesh mesh;
  ProcessGroup pp;
  std::int64_t pp_rank, data_rank;
  std::vector<nn::ModulePtr> modules;
  std::vector<std::unique_ptr<PipelineStage>> stages;
  std::optional<pipeline::PipelineSchedule> schedule;
  std::unique_ptr<optim::Optimizer> optimizer;

  bool holds(std::int64_t stage) const {
    return std::any_of(stages.begin(), stages.end(),
                       [=](const auto& own) { return own->stage_index() == stage; });
  }
  bool holds_first() const { return holds(0); }
  bool holds_last() const { return holds(std::int64_t(plan.stages.size()) - 1); }

  std::vector<nn::NamedTensor> parameters() const {
    std::vector<nn::NamedTensor> all;
    for (const nn::ModulePtr& module : modules)
      for (nn::NamedTensor& one : module->named_parameters()) {
        bool is_known = std::any_of(all.begin(), all.end(), [&](const nn::NamedTensor& known) {
          return nn::is_same_tensor(known.second, one.second);
        });
        if (!is_known) all.push_back(std::move(one));
      }
    return all;
  }

  json to_json_event(const fsdp::Event& event) const {
    for (std::size_t i = 0; i < modules.size(); ++i) {
      for (const auto& [name, module] : modules[i]->named_modules()) {
        if (event.group == nullptr || module != event.group->state().modules().front()) continue;
        json fields = {"fsdp"};
        fsdp::EventFields own = fsdp::fields_of(event, *modules[i]);
        for (std::size_t field = 0; field < own.size(); ++field) {
          if (const auto* number = std::get_if<std::int64_t>(&own[field]))
            fields.push_back(*number);
          else if (field == 1)
            fields.push_back(
                fmt::format("{}:{}", stages[i]->stage_index(), std::get<std::string>(own[field])));
          else
            fields.push_back(std::get<std::string>(own[field]));
        }
        return fields;
      }
    }
    return {"fsdp", "unknown"};
  }
};

namespace {

DeviceMesh pipeline_mesh(const PipelineCase& plan) {
  return init_device_mesh({plan.pipeline_ranks, plan.data_ranks}, {"pp", "dp"});
}

}  // namespace

PipelineRank::PipelineRank(const PipelineCase& plan, const Rank& rank, bool hashes) {
  DeviceMesh mesh = pipeline_mesh(plan);
  ProcessGroup pp = process_group(mesh, "pp");
  parts_ = std::make_unique<Parts>(Parts{plan,
                                         rank,
                                         hashes,
                                         mesh,
                                         pp,
                                         pp.rank(),
                                         mesh.get_local_rank("dp"),
                                         {},
                                         {},
                                         std::nullopt,
                                         nullptr});
}

PipelineRank::~PipelineRank() = default;

void PipelineRank::build() {
  const PipelineCase& plan = parts_->plan;
  std::vector<std::int64_t> own = plan.stages_on(parts_->pp_rank);
  std::vector<std::vector<std::string>> names;
  for (std::int64_t stage : own) names.push_back(plan.stages[std::size_t(stage)]);
  parts_->modules = build_stage_modules(plan.model, names);
  for (std::size_t i = 0; i < own.size(); ++i) {
    nn::Module& module = *parts_->modules[i];
    pipeline::StageOptions options{
        .stage_index = own[i], .num_stages = std::int64_t(plan.stages.size()), .group = parts_->pp};
    options.forward = plain_forward;
    options.validates_tensors = plan.debug_detail;
    if (auto index = plan.stage_index.find(own[i]); index != plan.stage_index.end())
      options.stage_index = index->second;
    if (auto gain = plan.gain.find(own[i]); gain != plan.gain.end())
      options.forward = gain_forward(gain->second);
    if (auto given = plan.given.find(own[i]); given != plan.given.end()) {
      if (given->second.inputs) options.input_args = examples(*given->second.inputs);
      if (given->second.outputs) options.output_args = examples(*given->second.outputs);
    }
    if (plan.data_parallel == "fsdp") {
      fsdp::FullyShardOptions shard{.mesh = parts_->mesh["dp"]};
      if (plan.reshard_after_forward) shard.reshard_after_forward = *plan.reshard_after_forward;
      for (const auto& [name, child] : module.children())
        if (!child->parameters().empty()) fsdp::fully_shard(*child, shard);
      fsdp::fully_shard(module, shard);
    } else if (plan.data_parallel == "ddp") {
      ProcessGroup dp = process_group(parts_->mesh, "dp");
      options.replication = replicate(module, dp, {.average = true});
    }
    parts_->stages.push_back(std::make_unique<PipelineStage>(module, std::move(options)));
  }
}

void PipelineRank::make_schedule() {
  const PipelineCase& plan = parts_->plan;
  pipeline::ScheduleSettings settings{.microbatches = plan.microbatches};
  settings.scale_grads = plan.scale_grads;
  settings.output_merge = plan.output_merge;
  settings.chunk_dims.args = parts_->holds_first() ? plan.args_chunk : std::nullopt;
  if (plan.kwargs_chunk) {
    settings.chunk_dims.kwargs.emplace();
    for (const auto& [stage, name] : plan.gain)
      if (auto dim = plan.kwargs_chunk->find(name);
          parts_->holds(stage) && dim != plan.kwargs_chunk->end() && plan.kwargs.count(name) > 0)
        settings.chunk_dims.kwargs->insert(*dim);
  }
  if (!plan.loss.empty())
    settings.loss = [name = plan.loss](const nn::Tensors& outputs, const Tensor& target,
                                       const pipeline::Keywords& keywords) {
      Tensor loss = loss_of(name, outputs.at(0), target);
      auto scale = keywords.find("scale");
      return scale == keywords.end() ? loss : mul(loss, std::get<double>(scale->second));
    };
  std::vector<PipelineStage*> stages;
  for (const auto& stage : parts_->stages) stages.push_back(stage.get());
  if (!plan.csv.empty())
    parts_->schedule.emplace(pipeline::PipelineSchedule::from_csv(plan.csv, plan.format, stages,
                                                                  settings, plan.options));
  else
    parts_->schedule.emplace(pipeline::schedule_class_from_string(plan.schedule), stages, settings,
                             plan.options);
  std::vector<Tensor> trained;
  for (const auto& [name, parameter] : parts_->parameters())
    if (parameter.requires_grad()) trained.push_back(parameter);
  if (plan.optimizer && !trained.empty())
    parts_->optimizer = make_optimizer(*plan.optimizer, trained);
}

namespace {

Tensor batch_at(const CaseTensor& data, const PipelineCase& plan, const PipelineStep& step) {
  Formula rule = data.data;
  rule.seed += plan.step_seed * std::uint64_t(step.batch);
  Tensor batch = formula(data.shape, rule);
  if (step.batch_size)
    batch =
        batch.narrow({.dim = 0, .start = 0, .length = std::min(*step.batch_size, batch.size(0))})
            .contiguous();
  return batch;
}

// Cuts a tensor into the lists of micro-batches that a program passes.
std::vector<Tensor> pre_split(const Tensor& batch, std::int64_t count) {
  return tensor_split(batch, count, 0);
}

// Raises the error of a call that can't be made with types.
void refuse_untyped(const PipelineStep& step, bool has_args) {
  auto refuse = [](const char* message) {
    raise(ErrorKind::type_error, "verify/pipeline", "{}", message);
  };
  if (step.bad == "not_tuple" && has_args) refuse("arg_mbs must be a list of tuples");
  if (step.bad == "not_list" && has_args) refuse("arg_mbs must be a list but got a tuple");
  if (step.bad == "kwarg_not_dict") refuse("kwarg_mbs must be a list of dicts");
  if (step.bad == "losses") refuse("losses must be a list but got a tuple");
}

}  // namespace

void PipelineRank::add_arguments(const PipelineStep& step, pipeline::StepInputs& inputs) {
  const PipelineCase& plan = parts_->plan;
  for (const auto& [stage, name] : plan.gain) {
    auto keyword = plan.kwargs.find(name);
    if (!parts_->holds(stage) || keyword == plan.kwargs.end()) continue;
    if (!keyword->second.tensor) {
      inputs.kwargs[name] = keyword->second.value;
      continue;
    }
    Tensor value = formula(keyword->second.tensor->shape, keyword->second.tensor->data);
    inputs.kwargs[name] =
        keyword->second.is_cut ? part_of_data(value, plan, parts_->data_rank) : value;
  }
  if (!step.pre_split) return;
  std::int64_t count = step.pre_split_count.value_or(plan.microbatches);
  if (!inputs.args.empty()) {
    inputs.arg_mbs.emplace();
    for (const Tensor& piece : pre_split(std::get<Tensor>(inputs.args[0]), count))
      inputs.arg_mbs->push_back({piece});
    if (step.bad != "mixed_args") inputs.args.clear();
  }
  if (inputs.target) {
    inputs.target_mbs = pre_split(*inputs.target, count);
    if (step.bad != "mixed_target") inputs.target.reset();
  }
  if (!inputs.kwargs.empty() || step.bad == "kwarg_mbs")
    inputs.kwarg_mbs.emplace(std::size_t(count) + (step.bad == "kwarg_mbs" ? 1 : 0));
  for (const auto& [name, value] : inputs.kwargs) {
    const auto* tensor = std::get_if<Tensor>(&value);
    std::vector<Tensor> pieces =
        tensor != nullptr ? pre_split(*tensor, count) : std::vector<Tensor>();
    for (std::size_t i = 0; i < std::size_t(count); ++i)
      (*inputs.kwarg_mbs)[i][name] = tensor != nullptr ? StepValue(pieces[i]) : value;
  }
  inputs.kwargs.clear();
  if (step.bad == "mixed_kwargs") inputs.kwargs["extra"] = 1.0;
}

pipeline::StepInputs PipelineRank::inputs_of(const PipelineStep& step, PipelineStepRecord& record) {
  const PipelineCase& plan = parts_->plan;
  pipeline::StepInputs inputs{.return_outputs = step.return_outputs,
                              .finalize_gradients = step.finalize};
  if (parts_->holds_first()) {
    Tensor x = part_of_data(batch_at(plan.input, plan, step), plan, parts_->data_rank).clone();
    if (plan.input_requires_grad) {
      set_requires_grad(x);
      record.input_grad = x;
    }
    inputs.args.emplace_back(x);
  }
  if (parts_->holds_last() && plan.target && step.has_target)
    inputs.target = part_of_data(batch_at(*plan.target, plan, step), plan, parts_->data_rank);
  add_arguments(step, inputs);
  bool gives_losses = parts_->holds_last() && step.passes_losses && !plan.loss.empty();
  if (gives_losses || (step.bad == "losses" && plan.schedule == "ForwardOnly"))
    inputs.losses = &record.losses;
  if (step.has_loss_scale) inputs.loss_kwargs["scale"] = step.loss_scale;
  return inputs;
}

void PipelineRank::register_context(bool hides) {
  for (const auto& stage : parts_->stages)
    stage->register_forward_context(
        [hides](const pipeline::PipelineStageInfo&, const std::function<void()>& forward) {
          if (!hides) return forward();
          try {
            forward();
          } catch (const Error&) {
          }
        });
}

PipelineStepRecord PipelineRank::run(const PipelineStep& step) {
  PipelineStepRecord record;
  if (step.act == "optim_step") {
    NoGrad unrecorded;
    if (parts_->optimizer) parts_->optimizer->step();
    return record;
  }
  if (step.act == "zero_grad") {
    for (const nn::ModulePtr& module : parts_->modules) module->zero_grad();
    return record;
  }
  if (step.act == "suppress") {
    register_context(true);
    return record;
  }
  if (step.act == "context_twice") {
    register_context(false);
    register_context(false);
    return record;
  }
  record.events = call(step, record);
  if (record.input_grad) record.input_grad = grad_of(*record.input_grad);
  if (step.records_grads)
    for (const auto& [name, parameter] : parts_->parameters()) {
      Tensor grad = grad_of(parameter);
      record.grads.emplace_back(name, grad.is_defined() ? whole_tensor(grad) : Tensor());
    }
  return record;
}

nlohmann::json PipelineRank::call(const PipelineStep& step, PipelineStepRecord& record) {
  json events = json::array();
  pipeline::StepInputs inputs = inputs_of(step, record);
  if (parts_->plan.schedule != "ForwardOnly") refuse_untyped(step, parts_->holds_first());
  GradMode mode(!step.no_grad);
  pipeline::ObserverScope observer([&](const pipeline::Event& event) {
    events.push_back(to_json(event, parts_->hashes));
    for (const pipeline::PostedTensor& message : event.messages)
      if (message.is_send && parts_->hashes) record.sent.push_back(message.sent.detach().clone());
  });
  fsdp::ObserverScope sharded([&](const fsdp::Event& event) {
    if (is_recorded_kind(event.kind)) events.push_back(parts_->to_json_event(event));
  });
  nn::Tensors outputs =
      step.act == "eval" ? parts_->schedule->eval(inputs) : parts_->schedule->step(inputs);
  if (!outputs.empty()) record.output = outputs.front().detach().clone();
  return events;
}

void PipelineRank::finish(PipelineRecord& record) {
  for (const auto& [name, parameter] : parts_->parameters())
    record.final.emplace_back(name, whole_tensor(parameter));
  for (const nn::ModulePtr& module : parts_->modules)
    for (const auto& [prefix, below] : module->named_modules())
      for (const nn::ParameterSlot& buffer : below->buffers())
        record.final.emplace_back(prefix.empty() ? buffer.name : prefix + "." + buffer.name,
                                  buffer.tensor.detach().clone());
  for (const auto& stage : parts_->stages)
    record.peak_states.emplace_back(stage->stage_index(), stage->peak_states());
}

}  // namespace simmesh
