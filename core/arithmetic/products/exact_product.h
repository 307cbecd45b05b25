#pragma once

#include "core/arithmetic/products/product_request.h"
#include "core/kernels/instruction_set.h"

namespace simmesh {

// exact_product computes each element as the correctly rounded sum of its exact terms a[i][k] *
// b[k][j]: no split of rows, columns or depth (see carried_product) and no order changes a bit,
// over the whole range of the dtypes and for any depth. An element whose terms have a NaN, or both
// infinities, is the one quiet NaN; one with an infinity of one sign is that infinity. A sum of
// zero is +0. Integers as in canonical_product.
void exact_product(const Product& product, InstructionSet set = best_instruction_set());

}  // namespace simmesh
