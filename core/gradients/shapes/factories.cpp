#include "core/ops/shapes/factories.h"

#include "core/gradients/gradient_table.h"

namespace simmesh {

void factories_gradients(GradientTable& table) {
  // Elements that don't depend on those of the input.
  static const OpGradient gradients[] = {
      {"empty_like", {}}, {"full_like", {}}, {"new_empty", {}}, {"new_full", {}},
      {"new_ones", {}},   {"new_zeros", {}}, {"ones_like", {}}, {"zeros_like", {}},
  };
  table.add(gradients);
}

}  // namespace simmesh
