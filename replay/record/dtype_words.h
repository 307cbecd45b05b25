#pragma once

#include <string_view>

#include "core/tensor/dtype.h"

namespace simmesh::replay {

// type_word returns the word inside "Tensor(...)" in a trace: "float", "long int", "c10::Half".
std::string_view type_word(DType dtype);

// scalar_type returns the number of PyTorch's ScalarType, as it is written among arguments: 6 for
// float32.
int scalar_type(DType dtype);

}  // namespace simmesh::replay
