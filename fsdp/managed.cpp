#include "fsdp/managed.h"

#include <algorithm>

#include "fsdp/state/state.h"

namespace simmesh::fsdp {

namespace {

bool contains(const std::vector<nn::Module*>& modules, const nn::Module* module) {
  return std::find(modules.begin(), modules.end(), module) != modules.end();
}

class Walk {
 public:
  explicit Walk(const std::vector<nn::Module*>& roots) : roots_(roots) {}

  void visit(nn::Module& module) {
    bool is_root = contains(roots_, &module);
    if (contains(visited_, &module) || (!is_root && FSDPState::of(module))) return;
    visited_.push_back(&module);
    for (const auto& [name, child] : module.children()) visit(*child);
    order_.push_back(&module);
  }

  const std::vector<nn::Module*>& order() const { return order_; }

 private:
  const std::vector<nn::Module*>& roots_;
  std::vector<nn::Module*> visited_, order_;
};

bool is_among(const std::vector<Tensor>& tensors, const Tensor& tensor) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const Tensor& other) { return nn::is_same_tensor(other, tensor); });
}

}  // namespace

std::vector<ManagedParam> managed_params(const std::vector<nn::Module*>& modules,
                                         const std::vector<Tensor>& ignored) {
  Walk walk(modules);
  for (nn::Module* module : modules) walk.visit(*module);
  std::vector<ManagedParam> params;
  for (nn::Module* module : walk.order()) {
    for (nn::ParameterSlot& slot : module->slots()) {
      if (!slot.tensor.is_defined() || is_among(ignored, slot.tensor)) continue;
      auto known = std::find_if(params.begin(), params.end(), [&](const ManagedParam& param) {
        return nn::is_same_tensor(param.parameter, slot.tensor);
      });
      if (known == params.end())
        params.push_back({slot.tensor, {{module, slot.name}, {}}});
      else
        known->slots.aliases.push_back({module, slot.name});
    }
  }
  return params;
}

}  // namespace simmesh::fsdp
