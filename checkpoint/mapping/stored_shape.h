#pragma once

#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

namespace simmesh::checkpoint {

// StoredShape is the shape and dtype of a stored tensor, for a mapping.
struct StoredShape {
  Shape shape;
  DType dtype = DType::float32;
};

}  // namespace simmesh::checkpoint
