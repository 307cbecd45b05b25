#include "core/gradients/gradient_table.h"
#include "core/gradients/selected_elements.h"

namespace simmesh {

void sorting_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"sort", selected_elements()}, {"topk", selected_elements()}, {"histc", {}},  // counts
  };
  table.add(gradients);
}

}  // namespace simmesh
