#include "core/ops/compute_mode.h"

#include "core/engine/local_state.h"
#include "core/engine/world.h"

namespace simmesh {

ComputeMode& compute_mode() { return local_state<ComputeMode>(); }

const Arithmetic& current_arithmetic() {
  static const Arithmetic canonical = Arithmetic::canonical();
  if (const Arithmetic* scoped = compute_mode().arithmetic) return *scoped;
  return in_rank() ? this_rank().world().options().arithmetic : canonical;
}

GradMode::GradMode(bool enabled) : mode_(compute_mode()), before_(mode_.grad_enabled) {
  mode_.grad_enabled = enabled;
}

UnroundedSums::UnroundedSums(bool keeps) : mode_(compute_mode()), before_(mode_.keeps_unrounded) {
  mode_.keeps_unrounded = keeps;
}

ArithmeticScope::ArithmeticScope(const Arithmetic& arithmetic)
    : mode_(compute_mode()), before_(mode_.arithmetic) {
  mode_.arithmetic = &arithmetic;
}

}  // namespace simmesh
