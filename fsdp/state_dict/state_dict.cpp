#include "fsdp/state_dict/state_dict.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/tensor/convert.h"
#include "fsdp/state/state.h"
#include "fsdp/state_dict/load_source.h"

namespace simmesh::fsdp {

namespace {

constexpr std::string_view state_dict_source = "fsdp/state_dict";

// Returns the states of a model that have parameters, each once.
std::vector<FSDPState*> states_of(nn::Module& model) {
  std::vector<FSDPState*> states;
  for (auto& [name, module] : model.named_modules()) {
    auto state = FSDPState::of(*module);
    if (state && std::find(states.begin(), states.end(), state.get()) == states.end())
      states.push_back(state.get());
  }
  return states;
}

// Does what the hooks of a state dict do on a module: its groups register their shards.
void register_shards(const std::vector<FSDPState*>& states, const nn::Module& module) {
  for (FSDPState* state : states)
    for (auto& group : state->groups())
      for (auto& param : group->params())
        if (param->slots().owner.module == &module && group->is_initialized())
          group->reshard_for_state_dict();
}

// fresh returns a DTensor of its own over the same local tensor.
Tensor fresh(const Tensor& tensor) {
  if (!tensor.distribution()) return tensor;
  DTensor value = DTensor::of(tensor);
  return DTensor(value.spec(), value.local()).as_tensor();
}

Tensor with_local(const Tensor& tensor, Tensor local) {
  DTensorSpec spec = DTensor::of(tensor).spec();
  spec.dtype = local.dtype();
  return replace_value(tensor, DTensor(std::move(spec), std::move(local)));
}

// Loader walks modules as PyTorch does: hooks and parameters of a module, the modules below it,
// then the hooks that run after its load.
class Loader {
 public:
  Loader(nn::Module& model, const nn::StateDict& state, const LoadOptions& options)
      : states_(states_of(model)),
        source_(state, options.broadcast_from_rank0),
        options_(options) {}

  void load(nn::Module& module, const std::string& prefix) {
    register_shards(states_, module);
    for (auto* slots : {&module.slots(), &module.buffers()})
      for (nn::ParameterSlot& slot : *slots)
        if (slot.tensor.is_defined()) load_slot(slot, prefix + slot.name);
    for (const auto& [name, child] : module.children()) load(*child, prefix + name + ".");
    for (FSDPState* state : states_)
      for (auto& group : state->groups())
        for (auto& param : group->params())
          if (param->slots().owner.module == &module) param->reset_sharded_param();
  }

  void check() const {
    std::vector<std::string> problems = problems_;
    for (const LoadSource::Entry& entry : source_.entries())
      if (std::find(seen_.begin(), seen_.end(), entry.name) == seen_.end())
        problems.push_back("unexpected key " + entry.name);
    if (options_.strict && !problems.empty())
      raise(ErrorKind::runtime_error, state_dict_source, "{}", join_text(problems, "; "));
  }

 private:
  void load_slot(nn::ParameterSlot& slot, const std::string& name) {
    const LoadSource::Entry* found = source_.find(name);
    if (!found) {
      problems_.push_back("missing key " + name);
      return;
    }
    seen_.push_back(name);
    if (found->shape != slot.tensor.shape())
      raise(ErrorKind::runtime_error, state_dict_source,
            "size mismatch for {}: {} in the state dict, {} here", name,
            to_string(DimSpan(found->shape)), to_string(DimSpan(slot.tensor.shape())));
    Tensor value = placed_as(spec_of(slot.tensor), source_.value(*found));
    if (options_.assign) {
      bool wants_grad = slot.tensor.requires_grad();
      slot.tensor = fresh(value.detach());
      slot.tensor.set_tracking(new Variable(wants_grad));
      return;
    }
    Tensor target = slot.tensor.local_part();
    if (target.is_meta()) return;
    copy_(target, converted(value.local_part(), target.dtype()));
  }

  static std::optional<DTensorSpec> spec_of(const Tensor& parameter) {
    if (!parameter.distribution()) return std::nullopt;
    return DTensor::of(parameter).spec();
  }

  std::vector<FSDPState*> states_;
  LoadSource source_;
  const LoadOptions& options_;
  std::vector<std::string> seen_, problems_;
};

// Conversion replaces the local parts of all tensors, and keeps the parameter objects.
class Conversion {
 public:
  using Convert = std::function<Tensor(const Tensor& local)>;
  explicit Conversion(Convert convert) : convert_(std::move(convert)) {}

  void apply(nn::Module& module) {
    auto state = FSDPState::of(module);
    if (state)
      for (auto& group : state->groups()) group->reshard();
    for (const auto& [name, child] : module.children()) apply(*child);
    for (auto* slots : {&module.slots(), &module.buffers()})
      for (nn::ParameterSlot& slot : *slots)
        if (slot.tensor.is_defined()) convert(slot.tensor);
    if (!state) return;
    for (auto& group : state->groups())
      for (auto& param : group->params()) param->reset_sharded_param();
  }

 private:
  void convert(Tensor& tensor) {
    for (auto& [old, made] : done_) {
      if (!nn::is_same_tensor(old, tensor)) continue;
      tensor = made;
      return;
    }
    Tensor old = tensor, local = tensor.local_part();
    Tensor replaced = convert_(local);
    if (replaced.storage() == local.storage()) return;
    if (tensor.distribution()) {
      convert_gradient(tensor);
      tensor = with_local(tensor, std::move(replaced));
    } else {
      set_requires_grad(replaced, tensor.requires_grad());
      set_grad_dtype(replaced, grad_dtype_of(tensor));
      tensor = replaced;
    }
    done_.emplace_back(old, tensor);
    done_.emplace_back(tensor, tensor);
  }

  // A gradient whose dtype was set keeps it.
  void convert_gradient(Tensor& tensor) {
    Tensor gradient = grad_of(tensor);
    if (!gradient.is_defined() || !gradient.distribution()) return;
    if (grad_dtype_of(tensor).is_set()) return;
    DTensorSpec spec = DTensor::of(gradient).spec();
    Tensor local = convert_(gradient.local_part());
    spec.dtype = local.dtype();
    set_grad(tensor, DTensor(std::move(spec), local).as_tensor());
  }

  Convert convert_;
  std::vector<std::pair<Tensor, Tensor>> done_;
};

}  // namespace

nn::StateDict state_dict(nn::Module& model) {
  std::vector<FSDPState*> states = states_of(model);
  for (auto& [name, module] : model.named_modules()) register_shards(states, *module);
  nn::StateDict state = model.state_dict();
  for (auto& [name, tensor] : state) tensor = fresh(tensor);
  return state;
}

nn::StateDict full_state_dict(nn::Module& model) {
  nn::StateDict state = state_dict(model);
  for (auto& [name, tensor] : state)
    if (tensor.distribution()) tensor = DTensor::of(tensor).full_tensor();
  return state;
}

void load_state_dict(nn::Module& model, const nn::StateDict& state, const LoadOptions& options) {
  Loader loader(model, state, options);
  loader.load(model, "");
  loader.check();
}

void to(nn::Module& model, DType dtype) {
  Conversion([dtype](const Tensor& local) {
    if (!is_floating_point(local.dtype()) || local.dtype() == dtype) return local;
    return local.is_meta() ? empty_meta(local.shape(), dtype) : converted(local, dtype);
  }).apply(model);
}

void to_empty(nn::Module& model) {
  Ledger::Category category(MemoryCategory::parameter);
  Conversion([](const Tensor& local) { return empty(local.shape(), local.dtype()); }).apply(model);
}

void cpu(nn::Module& model) {
  Conversion([](const Tensor& local) { return local; }).apply(model);
}

}  // namespace simmesh::fsdp
