#pragma once

#include "core/ops/attribute_names.h"
#include "core/ops/attributes.h"

namespace simmesh {

// Scales are the factors of a sum of an addend and a product.
struct Scales {
  double beta = 1;   // of the addend
  double alpha = 1;  // of the product
};

// scales_of reads them from the arguments "beta" and "alpha" of an op.
inline Scales scales_of(const Attributes& attributes) {
  return {.beta = attributes.get_or(attribute::beta, 1.0).as<double>(),
          .alpha = attributes.get_or(attribute::alpha, 1.0).as<double>()};
}

}  // namespace simmesh
