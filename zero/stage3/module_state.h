#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/nn/module.h"

namespace simmesh::zero {

class ModuleHooks;
class PartitionedParam;

// ModuleState is the state that stage 3 keeps with a module.
class ModuleState final : public nn::ModuleExtension {
 public:
  // of returns a module's state, made where there is none; find returns null for none. `of` raises
  // a RuntimeError for a module that another form of parallelism has extended.
  static ModuleState& of(nn::Module& module);
  static ModuleState* find(const nn::Module& module);

  void forward_failed(nn::Module& module) override {
    if (on_failure) on_failure(module);
  }
  void parameter_read(const nn::Module& module, const nn::ParameterSlot& slot) override {
    if (on_read) on_read(module, slot);
  }

  bool is_leaf = false;
  // Parameters of the module that zero::Init partitioned and no engine has taken yet.
  std::vector<std::shared_ptr<PartitionedParam>> initialized = {};
  // The hooks of the engine to which the module belongs.
  std::weak_ptr<ModuleHooks> hooks = {};
  std::function<void(nn::Module& module)> on_failure = {};
  std::function<void(const nn::Module& module, const nn::ParameterSlot& slot)> on_read = {};
};

}  // namespace simmesh::zero
