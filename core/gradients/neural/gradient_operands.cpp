#include "core/ops/neural/gradient_operands.h"

#include "core/gradients/gradient_table.h"

namespace simmesh {

void gradient_operands_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"gradient_operands", {}},  // returns the operands that a gradient saved
  };
  table.add(gradients);
}

}  // namespace simmesh
