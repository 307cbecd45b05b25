#pragma once

#include "core/arithmetic/products/product_request.h"
#include "core/kernels/instruction_set.h"

namespace simmesh {

// canonical_product computes each element as one chain acc = fma(a[i][k], b[k][j], acc), k
// ascending, from +0, in float32 (float64 for float64 operands), and rounds it once to the result's
// dtype. Row and column splits don't change a bit. A product that is added to its result starts its
// chains from the result's elements. Integers wrap. Raises a TypeError for dtypes that don't go
// together, and for bool.
void canonical_product(const Product& product, InstructionSet set = best_instruction_set());

}  // namespace simmesh
