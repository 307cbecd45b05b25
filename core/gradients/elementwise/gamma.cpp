#include "core/ops/elementwise/gamma.h"

#include "core/gradients/gradient_table.h"
#include "core/gradients/slopes.h"

namespace simmesh {

void gamma_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"lgamma", slope_of_input(digamma)},
      {"digamma", slope_of_input(trigamma)},
      {"trigamma", {}},  // the third derivative of a logarithm
  };
  table.add(gradients);
}

}  // namespace simmesh
