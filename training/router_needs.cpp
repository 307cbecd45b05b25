#include "training/router_needs.h"

#include "core/nn/moe.h"

namespace simmesh {

RouterNeeds router_needs(nn::Module& model, std::int64_t micro_batches) {
  RouterNeeds needs;
  for (const auto& [path, module] : model.named_modules())
    if (auto* moe = dynamic_cast<nn::Moe*>(module)) {
      // A decision depends on the choices of all tokens.
      bool has_loads = moe->capacity_of(1) > 0 || moe->options().router.aux_loss != 0.0;
      needs.plan |= has_loads && micro_batches > 1;
      needs.loss |= moe->options().router.has_losses();
    }
  return needs;
}

}  // namespace simmesh
