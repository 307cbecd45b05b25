#pragma once

#include "core/arithmetic/product.h"

namespace simmesh {

// eigen_product is Eigen's sgemm, compiled for the processor of the build: row-major float32
// operands, b transposed where its rows have stride 1.
void eigen_product(const Product& product);

}  // namespace simmesh
