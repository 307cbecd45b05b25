#pragma once

#include "core/ops/attributes.h"

namespace simmesh {

// Scales are the factors of a sum of an addend and a product.
struct Scales {
  double beta = 1;   // of the addend
  double alpha = 1;  // of the product
};

// scales_of reads them from the arguments "beta" and "alpha" of an op.
inline Scales scales_of(const Attributes& attributes) {
  return {.beta = attributes.get_or("beta", 1.0), .alpha = attributes.get_or("alpha", 1.0)};
}

}  // namespace simmesh
