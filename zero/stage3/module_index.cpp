#include "zero/stage3/module_index.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/error.h"
#include "zero/stage3/leaf_modules.h"

namespace simmesh::zero {

ModuleIndex::ModuleIndex(nn::Module& root, const ModelParallel& parallel) : root_(&root) {
  for (auto& [prefix, module] : root.named_modules()) {
    for (const nn::ParameterSlot& slot : module->slots()) {
      std::string path = prefix.empty() ? slot.name : prefix + "." + slot.name;
      if (!slot.tensor.is_defined() || !parallel.is_trained(path)) continue;
      auto known = std::find_if(params_.begin(), params_.end(), [&](const Param& param) {
        return nn::is_same_tensor(param.tensor, slot.tensor);
      });
      if (known == params_.end())
        known = params_.insert(params_.end(), {std::move(path), slot.tensor, {}});
      known->places.push_back({module, slot.name});
    }
  }
  number(root, "");
}

void ModuleIndex::number(nn::Module& module, const std::string& name) {
  if (!ids_.emplace(&module, ModuleId(modules_.size())).second) return;
  modules_.emplace_back(name, &module);
  if (z3_leaf_module(module)) return;
  for (const auto& [child_name, child] : module.children())
    number(*child, name.empty() ? child_name : fmt::format("{}.{}", name, child_name));
}

ModuleId ModuleIndex::module_id(const nn::Module& module) const {
  auto found = ids_.find(&module);
  return found == ids_.end() ? -1 : found->second;
}

ParamId ModuleIndex::param_id(const Tensor& parameter) const {
  for (std::size_t i = 0; i < params_.size(); ++i)
    if (nn::is_same_tensor(params_[i].tensor, parameter)) return ParamId(i);
  return -1;
}

ParamId ModuleIndex::named(std::string_view name) const {
  for (std::size_t i = 0; i < params_.size(); ++i)
    if (params_[i].name == name) return ParamId(i);
  raise(ErrorKind::key_error, "zero/stage3", "expected the name of a parameter, got {}", name);
}

void ModuleIndex::mark_persistent(std::int64_t threshold, std::int64_t model_threshold) {
  std::int64_t marked = 0;
  for (Param& param : params_) {
    std::int64_t numel = param.tensor.numel();
    param.is_persistent = numel <= threshold && numel <= model_threshold - marked;
    if (param.is_persistent) marked += numel;
  }
}

std::map<const nn::Module*, std::vector<ParamId>> ModuleIndex::owners() const {
  std::map<const nn::Module*, std::vector<ParamId>> owned;
  for (std::size_t i = 0; i < params_.size(); ++i)
    for (const PartitionedParam::Place& place : params_[i].places) {
      std::vector<ParamId>& ids = owned[place.module];
      if (ids.empty() || ids.back() != ParamId(i)) ids.push_back(ParamId(i));
    }
  return owned;
}

FetchGraph ModuleIndex::graph(std::int64_t ranks) const {
  std::vector<FetchParam> params;
  for (const Param& param : params_) {
    std::int64_t numel = param.tensor.numel();
    params.push_back({.numel = numel,
                      .shard_numel = (numel + ranks - 1) / ranks,
                      .is_persistent = param.is_persistent,
                      .requires_grad = param.tensor.requires_grad()});
  }
  std::map<const nn::Module*, std::vector<ParamId>> owned = owners();
  std::vector<FetchModule> modules;
  for (const auto& [name, module] : modules_) {
    FetchModule& entry = modules.emplace_back();
    entry.own = owned[module];
    entry.is_leaf = z3_leaf_module(*module);
    for (auto& [path, inner] : module->named_modules())
      for (ParamId id : owned[inner]) entry.below.push_back(id);
    std::sort(entry.below.begin(), entry.below.end());
    entry.below.erase(std::unique(entry.below.begin(), entry.below.end()), entry.below.end());
  }
  return {std::move(params), std::move(modules)};
}

}  // namespace simmesh::zero
