#pragma once

#include "core/arithmetic/products/product_request.h"
#include "core/arithmetic/reductions/reduction.h"
#include "core/arithmetic/sums/sums.h"
#include "core/engine/options/arithmetic.h"

namespace simmesh {

// Dispatch on an Arithmetic: each mode has its own rule for additions.

// compute writes the result of a product: exact_product where the arithmetic is exact, else
// canonical_product.
void compute(const Arithmetic& arithmetic, const Product& product);

// compute writes the results of sums: exact_sum where the arithmetic is exact, else canonical_sum.
void compute(const Arithmetic& arithmetic, const SumRequest& sums);

// compute writes the result of a reduction, which has operands, in the order of the arithmetic.
// Raises a TypeError where the operation isn't defined for the dtype.
void compute(const Arithmetic& arithmetic, const Reduction& reduction);

// adds_by_owner says whether a reduce-scatter must reduce each member's elements on their own, with
// the owner given.
bool adds_by_owner(const Arithmetic& arithmetic);

}  // namespace simmesh
