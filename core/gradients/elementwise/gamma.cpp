#include "core/ops/elementwise/gamma.h"

#include "core/gradients/elementwise/slopes.h"
#include "core/gradients/families.h"

namespace simmesh {

gsl::span<const OpGradient> gamma_gradients() {
  static const OpGradient gradients[] = {
      {"lgamma", slope_of_input(digamma)},
      {"digamma", slope_of_input(trigamma)},
  };
  return gradients;
}

}  // namespace simmesh
