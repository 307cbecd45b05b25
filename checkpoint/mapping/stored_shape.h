#pragma once

#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

namespace simmesh::checkpoint {

// StoredShape is what a mapping has to know of a stored tensor.
struct StoredShape {
  Shape shape;
  DType dtype = DType::float32;
};

}  // namespace simmesh::checkpoint
