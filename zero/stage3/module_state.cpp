#include "zero/stage3/module_state.h"

#include "core/check/error.h"

namespace simmesh::zero {

ModuleState* ModuleState::find(const nn::Module& module) {
  return dynamic_cast<ModuleState*>(module.extension().get());
}

ModuleState& ModuleState::of(nn::Module& module) {
  if (ModuleState* state = find(module)) return *state;
  if (module.extension())
    raise(ErrorKind::runtime_error, "zero/stage3",
          "expected a module without fully_shard, got one that was sharded by it");
  auto state = std::make_shared<ModuleState>();
  module.set_extension(state);
  return *state;
}

}  // namespace simmesh::zero
