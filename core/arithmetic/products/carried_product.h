#pragma once

#include "core/arithmetic/products/product_request.h"
#include "core/arithmetic/sums/carried_sums.h"
#include "core/arithmetic/sums/sums.h"

namespace simmesh {

// carried_product returns the unrounded elements of a floating product, row by row: each is the
// exact sum of its exact terms. product.result isn't used.
CarriedSums carried_product(const Product& product, InstructionSet set = best_instruction_set());

// carried_sum returns the unrounded sums of a floating request. totals and result aren't used.
CarriedSums carried_sum(const SumRequest& request, InstructionSet set = best_instruction_set());

}  // namespace simmesh
