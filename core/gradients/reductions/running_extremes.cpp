#include "core/gradients/gradient_table.h"
#include "core/gradients/selected_elements.h"

namespace simmesh {

void running_extremes_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"cummax", selected_elements()},
      {"cummin", selected_elements()},
  };
  table.add(gradients);
}

}  // namespace simmesh
