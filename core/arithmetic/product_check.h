#pragma once

#include "core/arithmetic/product.h"

namespace simmesh {

// check_product throws a TypeError for dtypes that don't go together in a product.
void check_product(const Product& product);

}  // namespace simmesh
