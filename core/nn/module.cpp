#include "core/nn/module.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <unordered_set>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/engine/ranks/local_state.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/convert.h"

namespace simmesh::nn {

namespace {

constexpr std::string_view module_source = "nn/module";

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

template <class Entries>
auto find_named(Entries& entries, std::string_view name) {
  return std::find_if(entries.begin(), entries.end(),
                      [name](const auto& entry) { return entry.name == name; });
}

void check_name(const Module& module, const std::string& name) {
  bool taken = false;
  for (const ParameterSlot& slot : module.slots()) taken |= slot.name == name;
  for (const auto& [known, child] : module.children()) taken |= known == name;
  if (taken || name.empty() || name.find('.') != std::string::npos)
    raise(ErrorKind::key_error, module_source, "expected a new name without dots, got '{}'", name);
}

// Returns a new leaf of other elements, with the tape's settings of the old tensor.
Tensor leaf_like(const Tensor& old, Tensor data) {
  set_requires_grad(data, old.requires_grad());
  return data;
}

struct Adoption {
  const ParameterAdoption::Adopt* active = nullptr;
};

// A child with one owner is reached once. To remember all others costs the most in large models.
bool has_other_owners(const ModulePtr& child) { return child.use_count() > 1; }

void collect(Module& module, const std::string& prefix, std::unordered_set<Module*>& seen,
             std::vector<std::pair<std::string, Module*>>& out) {
  out.emplace_back(prefix, &module);
  for (const auto& [name, child] : module.children())
    if (!has_other_owners(child) || seen.insert(child.get()).second)
      collect(*child, joined(prefix, name), seen, out);
}

// Does the same without names, which cost more than all else.
void collect(Module& module, std::set<Module*>& seen, std::vector<Module*>& out) {
  out.push_back(&module);
  for (const auto& [name, child] : module.children())
    if (!has_other_owners(child) || seen.insert(child.get()).second) collect(*child, seen, out);
}

}  // namespace

ParameterAdoption::ParameterAdoption(Adopt adopt)
    : adopt_(std::move(adopt)), outer_(std::exchange(local_state<Adoption>().active, &adopt_)) {}

ParameterAdoption::~ParameterAdoption() { local_state<Adoption>().active = outer_; }

const ParameterAdoption::Adopt* ParameterAdoption::active() {
  return local_state<Adoption>().active;
}

bool is_same_tensor(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.distribution() == b.distribution() &&
         a.tracking() == b.tracking() && a.storage_offset() == b.storage_offset() &&
         a.shape() == b.shape();
}

Tensors Module::call(Tensors inputs) {
  for (const PreHook& hook : std::vector(pre_hooks_)) inputs = hook(*this, std::move(inputs));
  Tensors outputs = run_forward(inputs);
  for (const Hook& hook : std::vector(hooks_)) outputs = hook(*this, inputs, std::move(outputs));
  return outputs;
}

Tensors Module::run_forward(const Tensors& inputs) {
  auto run = [this](const Tensors& given) {
    Ledger::Category category(MemoryCategory::activation);
    return forward(given);
  };
  auto run_all = [&] {
    return checkpointing_ ? checkpoint_activations(run, inputs, *checkpointing_) : run(inputs);
  };
  // A recomputation ends by an exception, so each module on its way that catches it costs time.
  if (!extension_) return run_all();
  try {
    return run_all();
  } catch (...) {
    extension_->forward_failed(*this);
    throw;
  }
}

Tensor Module::operator()(const Tensor& input) {
  Tensors outputs = call({input});
  if (outputs.size() != 1)
    raise(ErrorKind::runtime_error, module_source, "expected a module of one output, got {}",
          outputs.size());
  return std::move(outputs.front());
}

const Tensor& Module::parameter(std::string_view name) const {
  auto slot = find_named(parameters_, name);
  if (slot == parameters_.end())
    raise(ErrorKind::key_error, module_source, "expected a parameter's name, got '{}'", name);
  if (extension_) extension_->parameter_read(*this, *slot);
  return slot->tensor;
}

void Module::set_parameter(std::string_view name, Tensor tensor) {
  auto slot = find_named(parameters_, name);
  if (slot == parameters_.end())
    raise(ErrorKind::key_error, module_source, "expected a parameter's name, got '{}'", name);
  slot->tensor = std::move(tensor);
}

Module& Module::child(std::string_view name) const {
  for (const auto& [known, child] : children_)
    if (known == name) return *child;
  raise(ErrorKind::key_error, module_source, "expected a child's name, got '{}'", name);
}

Module& Module::find(std::string_view path) {
  Module* module = this;
  while (!path.empty()) {
    std::size_t dot = path.find('.');
    module = &module->child(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return *module;
}

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> modules;
  std::unordered_set<Module*> seen{this};
  collect(*this, "", seen, modules);
  return modules;
}

std::vector<NamedTensor> Module::named_parameters() {
  std::vector<NamedTensor> result;
  std::multimap<const Storage*, std::size_t> known;  // places of the result, by the storage
  for (auto& [prefix, module] : named_modules()) {
    for (const ParameterSlot& slot : module->parameters_) {
      if (!slot.tensor.is_defined()) continue;
      auto [first, last] = known.equal_range(slot.tensor.storage().get());
      if (std::any_of(first, last, [&](const auto& one) {
            return is_same_tensor(result[one.second].second, slot.tensor);
          }))
        continue;
      known.emplace(slot.tensor.storage().get(), result.size());
      result.emplace_back(joined(prefix, slot.name), slot.tensor);
    }
  }
  return result;
}

std::vector<Tensor> Module::parameters() {
  std::vector<Module*> modules;
  std::set<Module*> seen{this};
  collect(*this, seen, modules);
  std::vector<Tensor> result;
  for (Module* module : modules)
    for (const ParameterSlot& slot : module->parameters_) {
      bool known = std::any_of(result.begin(), result.end(), [&](const Tensor& other) {
        return is_same_tensor(other, slot.tensor);
      });
      if (slot.tensor.is_defined() && !known) result.push_back(slot.tensor);
    }
  return result;
}

StateDict Module::state_dict() {
  StateDict state;
  for (auto& [prefix, module] : named_modules())
    for (const auto* slots : {&module->parameters_, &module->buffers_})
      for (const ParameterSlot& slot : *slots)
        if (slot.tensor.is_defined())
          state.emplace_back(joined(prefix, slot.name), slot.tensor.detach());
  return state;
}

void Module::load_state_dict(const StateDict& state) {
  StateDict own = state_dict();
  std::vector<std::string> problems;
  auto named = [](const StateDict& in, const std::string& name) {
    return std::find_if(in.begin(), in.end(), [&](const auto& e) { return e.first == name; });
  };
  for (const auto& [name, tensor] : own) {
    auto found = named(state, name);
    if (found == state.end())
      problems.push_back("missing key " + name);
    else if (found->second.shape() != tensor.shape())
      problems.push_back(fmt::format("size mismatch for {}: {} in the state dict, {} here", name,
                                     to_string(DimSpan(found->second.shape())),
                                     to_string(DimSpan(tensor.shape()))));
  }
  for (const auto& [name, tensor] : state)
    if (named(own, name) == own.end()) problems.push_back("unexpected key " + name);
  if (!problems.empty())
    raise(ErrorKind::runtime_error, "nn/load_state_dict", "{}", join_text(problems, "; "));
  for (auto& [name, tensor] : own)
    copy_(tensor, converted(named(state, name)->second.detach(), tensor.dtype()));
}

void Module::train(bool mode) {
  for (auto& [name, module] : named_modules()) module->training_ = mode;
}

void Module::set_requires_grad(bool value) {
  for (Tensor& parameter : std::vector(parameters())) simmesh::set_requires_grad(parameter, value);
}

void Module::zero_grad() {
  for (Tensor& parameter : std::vector(parameters())) set_grad(parameter, Tensor());
}

void Module::to(DType dtype) {
  std::vector<std::pair<Tensor, Tensor>> done;
  auto convert = [&](Tensor& tensor) {
    if (!tensor.is_defined() || !is_floating_point(tensor.dtype())) return;
    for (auto& [old, made] : done)
      if (is_same_tensor(old, tensor)) {
        tensor = made;
        return;
      }
    Tensor made = leaf_like(tensor, converted(tensor.detach(), dtype).clone());
    done.emplace_back(tensor, made);
    tensor = made;
  };
  for (auto& [name, module] : named_modules())
    for (auto* slots : {&module->parameters_, &module->buffers_})
      for (ParameterSlot& slot : *slots) convert(slot.tensor);
}

void Module::to_empty() {
  std::multimap<const Storage*, std::pair<Tensor, Tensor>> done;  // old and new, by the storage
  for (auto& [name, module] : named_modules())
    for (auto* slots : {&module->parameters_, &module->buffers_})
      for (ParameterSlot& slot : *slots) {
        if (!slot.tensor.is_defined()) continue;
        const Storage* storage = slot.tensor.storage().get();
        auto [first, last] = done.equal_range(storage);
        auto known = std::find_if(first, last, [&](const auto& one) {
          return is_same_tensor(one.second.first, slot.tensor);
        });
        if (known == last) {
          Tensor made = leaf_like(slot.tensor, empty(slot.tensor.shape(), slot.tensor.dtype()));
          done.emplace(storage, std::pair(slot.tensor, made));
          slot.tensor = made;
        } else {
          slot.tensor = known->second.second;
        }
      }
}

void Module::register_parameter(std::string name, Tensor tensor) {
  check_name(*this, name);
  if (tensor.is_defined() && !tensor.tracking())
    simmesh::set_requires_grad(tensor, is_floating_point(tensor.dtype()));
  if (const auto* adopt = ParameterAdoption::active(); adopt && tensor.is_defined())
    tensor = (*adopt)(*this, name, tensor);
  parameters_.push_back({std::move(name), std::move(tensor)});
}

void Module::register_buffer(std::string name, Tensor tensor) {
  check_name(*this, name);
  buffers_.push_back({std::move(name), std::move(tensor)});
}

Module& Module::register_child(std::string name, ModulePtr child) {
  check_name(*this, name);
  children_.emplace_back(std::move(name), std::move(child));
  return *children_.back().second;
}

}  // namespace simmesh::nn
