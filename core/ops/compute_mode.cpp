#include "core/ops/compute_mode.h"

#include "core/engine/world.h"

namespace simmesh {

const Arithmetic& current_arithmetic(const ComputeMode& mode) {
  static const Arithmetic canonical = Arithmetic::canonical();
  if (mode.arithmetic) return *mode.arithmetic;
  return in_rank() ? this_rank().world().options().arithmetic : canonical;
}

ArithmeticScope::ArithmeticScope(const Arithmetic& arithmetic)
    : mode_(compute_mode()), before_(mode_.arithmetic) {
  mode_.arithmetic = &arithmetic;
}

}  // namespace simmesh
