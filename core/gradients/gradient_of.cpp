#include "core/gradients/gradient_of.h"

#include "core/gradients/gradient_table.h"

namespace simmesh {

const Gradient* gradient_of(const Op& op) {
  if (op.gradient.rule) return &op.gradient;
  static const GradientTable table = collected_gradients();
  const Gradient* gradient = table.find(op);
  return gradient && gradient->rule ? gradient : nullptr;
}

}  // namespace simmesh
