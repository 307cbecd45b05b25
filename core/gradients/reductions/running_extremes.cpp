#include "core/gradients/families.h"
#include "core/gradients/reductions/selected_elements.h"

namespace simmesh {

gsl::span<const OpGradient> running_extreme_gradients() {
  static const OpGradient gradients[] = {
      {"cummax", selected_elements()},
      {"cummin", selected_elements()},
  };
  return gradients;
}

}  // namespace simmesh
