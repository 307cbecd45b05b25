#pragma once

#include <cstdint>
#include <string_view>

#include "core/tensor/dtype.h"

namespace simmesh::replay {

// ElementType is how a replay stores the elements of a recorded type: as so many elements of a
// dtype each.
struct ElementType {
  DType dtype = DType::uint8;
  std::int64_t per_element = 1;
};

// element_type returns the type for a recorded one, in the words of tensors ("float", "long int",
// "c10::Half") or of communications ("Float", "Long"), of which an element has so many bytes. A
// complex number becomes two floating ones. A type for which simmesh has no dtype becomes its
// bytes, which are moved alike and are added as bytes.
ElementType element_type(std::string_view recorded, std::int64_t item_bytes);

}  // namespace simmesh::replay
