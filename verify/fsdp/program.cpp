#include "verify/fsdp/program.h"

#include <algorithm>

#include "collectives/collectives.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/convert.h"
#include "fsdp/named_params.h"
#include "fsdp/state_dict/state_dict.h"
#include "sharding/dtensor/dtensor.h"
#include "verify/fsdp/setters.h"

namespace simmesh {

namespace {

// Adds outputs one after another, as a Python sum does.
Tensor sum_of_all(const nn::Tensors& outputs) {
  Tensor total;
  for (const Tensor& output : outputs) {
    Tensor term = sum(output);
    total = total.is_defined() ? add(total, term) : term;
  }
  return total;
}

}  // namespace

void ProgramRun::run(const ProgramStep& step) {
  if (!step.expect_error) return act(step);
  try {
    act(step);
  } catch (const Error&) {
    return;
  }
  raise(ErrorKind::runtime_error, "verify/fsdp/program", "expected the step {} to raise", step.act);
}

void ProgramRun::act(const ProgramStep& step) {
  if (step.act == "forward") return forward(step);
  if (step.act == "backward") return backward(step);
  if (step.act == "set")
    return set_on_module(model().find(step.module), step.what, step.value, step.recurse);
  if (!act_on_module(step) && !act_on_state(step))
    SIMMESH_CHECK(false, "unknown step {}", step.act);
}

bool ProgramRun::act_on_module(const ProgramStep& step) {
  auto found = [&]() -> nn::Module& { return model().find(step.module); };
  if (step.act == "set_prefetch") {
    fsdp::FSDPModule module(found());
    step.kind == "forward" ? module.set_modules_to_forward_prefetch(modules_at(step.targets))
                           : module.set_modules_to_backward_prefetch(modules_at(step.targets));
  } else if (step.act == "unshard") {
    if (auto handle = fsdp::FSDPModule(found()).unshard(step.async))
      handles_.insert_or_assign(step.as, *handle);
  } else if (step.act == "reshard") {
    fsdp::FSDPModule(found()).reshard();
  } else if (step.act == "wait_handle") {
    if (auto handle = handles_.find(step.as); handle != handles_.end()) handle->second.wait();
  } else if (step.act == "share_comm_ctx") {
    fsdp::share_comm_ctx(modules_at(step.modules));
  } else if (step.act == "reset_iter_state") {
    fsdp::FSDPModule(found()).reset_iter_state();
  } else if (step.act == "deepcopy") {
    fsdp::FSDPModule(found()).deepcopy();
  } else if (step.act == "set_all_reduce_hook") {
    auto stream = step.on_stream ? std::optional(Stream::make("hook")) : std::nullopt;
    fsdp::FSDPModule(found()).set_all_reduce_hook([](Tensor&) {}, stream);
  } else if (step.act == "set_custom_all_gather") {
    fsdp::FSDPModule(found()).set_custom_all_gather({.call = [](const fsdp::AllGatherCall& call) {
      return all_gather_async(call.input, {.dim = 0}, call.group);
    }});
  } else if (step.act == "register_forward_method") {
    fsdp::ForwardMethod method;
    if (step.method == "forward")
      method = [&module = found()](const nn::Tensors& inputs) { return module.call(inputs); };
    fsdp::register_fsdp_forward_method(found(), step.method, std::move(method));
  } else {
    return false;
  }
  return true;
}

bool ProgramRun::act_on_state(const ProgramStep& step) {
  if (step.act == "zero_grad") {
    model().zero_grad();
  } else if (step.act == "optimizer") {
    optimizer_ =
        std::make_unique<optim::Sgd>(model().parameters(), optim::SgdOptions{.lr = step.lr});
  } else if (step.act == "optim_step") {
    if (!optimizer_)
      optimizer_ =
          std::make_unique<optim::Sgd>(model().parameters(), optim::SgdOptions{.lr = step.lr});
    optimizer_->step();
  } else if (step.act == "state_dict") {
    state_dicts_[step.as] = fsdp::state_dict(model());
  } else if (step.act == "load") {
    load(step);
  } else if (step.act == "to") {
    fsdp::to(model(), step.dtype);
  } else if (step.act == "cpu") {
    fsdp::cpu(model());
  } else if (step.act == "to_empty") {
    fsdp::to_empty(model());
  } else if (step.act == "fill") {
    fill();
  } else if (step.act == "set_requires_grad") {
    for (const std::string& name : step.params) {
      Tensor parameter = find_slot(model(), name).tensor();
      set_requires_grad(parameter, std::get<bool>(step.value));
    }
  } else {
    return false;
  }
  return true;
}

std::vector<nn::Module*> ProgramRun::modules_at(const std::vector<std::string>& paths) const {
  std::vector<nn::Module*> modules;
  modules.reserve(paths.size());
  for (const std::string& path : paths) modules.push_back(&model().find(path));
  return modules;
}

Tensor ProgramRun::input_of(const ProgramStep& step) const {
  const InputPlan& input = step.input;
  if (input.from.empty()) {
    Tensor tensor = formula(input.tensor.shape, input.tensor.data);
    if (input.requires_grad) set_requires_grad(tensor);
    return tensor;
  }
  Tensor source = outputs_.at(input.from).at(0);
  std::int64_t size = source.size(0);
  std::int64_t length = (size + input.chunks - 1) / input.chunks;
  std::int64_t start = std::min(length * input.chunk, size);
  Tensor part = source.narrow({0, start, std::min(length, size - start)});
  if (!input.detach) return part;
  part = part.detach();
  set_requires_grad(part);
  return part;
}

void ProgramRun::forward(const ProgramStep& step) {
  GradMode mode(step.grad && grad_enabled());
  nn::Tensors outputs = model().find(step.module).call({input_of(step)});
  outputs_[step.as.empty() ? "y" : step.as] = std::move(outputs);
}

void ProgramRun::backward(const ProgramStep& step) {
  nn::Tensors chosen;
  for (const std::string& name : step.of) {
    const nn::Tensors& outputs = outputs_.at(name);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (step.outs.empty() ||
          std::find(step.outs.begin(), step.outs.end(), std::int64_t(i)) != step.outs.end())
        chosen.push_back(outputs[i]);
  }
  BackwardOptions options;
  options.retain_graph = step.retain;
  simmesh::backward(sum_of_all(chosen), options);
}

// Returns values by formula with another seed, whole.
Tensor ProgramRun::values_of(const std::string& name, std::uint64_t seed_add) const {
  const TrainingModel& model = model_->plan().model;
  std::vector<std::string> names = {name};
  for (const auto& [slot, other] : model.tied) {
    if (slot == name) names.push_back(other);
    if (other == name) names.push_back(slot);
  }
  for (ParameterData data : model.parameters) {
    if (std::find(names.begin(), names.end(), data.name) == names.end()) continue;
    data.data.seed += seed_add;
    return parameter_values(data, model.dtype);
  }
  return {};
}

void ProgramRun::load(const ProgramStep& step) {
  nn::StateDict state;
  for (const fsdp::NamedParam& named : fsdp::named_params(model())) {
    const std::string& name = named.name;
    bool is_wanted =
        !step.has_keys || std::find(step.keys.begin(), step.keys.end(), name) != step.keys.end();
    Tensor whole = values_of(name, step.seed_add);
    if (!is_wanted || !whole.is_defined()) continue;
    DTensorSpec spec = DTensor::of(named.param->sharded_param()).spec();
    state.emplace_back(
        name, distribute_tensor(whole, spec.mesh(), spec.placements(), {.from_first_rank = false})
                  .as_tensor());
  }
  fsdp::load_state_dict(model(), state, {.assign = step.assign, .strict = step.strict});
  state_dicts_["loaded"] = std::move(state);
}

void ProgramRun::fill() {
  for (const fsdp::NamedParam& named : fsdp::named_params(model())) {
    const Tensor& shard = named.param->sharded_param();
    DTensorSpec spec = DTensor::of(shard).spec();
    DTensor value = distribute_tensor(values_of(named.name, 0), spec.mesh(), spec.placements(),
                                      {.from_first_rank = false});
    Tensor local = shard.local_part();
    copy_(local, converted(value.local(), local.dtype()));
  }
}

}  // namespace simmesh
