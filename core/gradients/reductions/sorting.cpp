#include "core/gradients/families.h"
#include "core/gradients/reductions/selected_elements.h"

namespace simmesh {

gsl::span<const OpGradient> sorting_gradients() {
  static const OpGradient gradients[] = {
      {"sort", selected_elements()},
      {"topk", selected_elements()},
  };
  return gradients;
}

}  // namespace simmesh
