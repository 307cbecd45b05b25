#pragma once

#include "core/arithmetic/products/product.h"

namespace simmesh {

// eigen_product is Eigen's sgemm, compiled for the processor of the build. Operands are row-major
// float32; b is transposed if its rows have stride 1.
void eigen_product(const Product& product);

}  // namespace simmesh
