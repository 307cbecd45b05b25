#pragma once

#include <bit>
#include <cstdint>
#include <nanobind/nanobind.h>

#include "core/arithmetic/companions/exact_record.h"
#include "python/bindings/torch_array.h"

namespace simmesh::python {

// elements_of_storage describes a floating or complex tensor and its place in its storage.
inline ElementsOfStorage elements_of_storage(nanobind::handle tensor) {
  ElementsOfStorage elements{.array = element_array(tensor)};
  auto begin = nanobind::cast<std::uintptr_t>(tensor.attr("untyped_storage")().attr("data_ptr")());
  elements.offset = std::int64_t(std::bit_cast<std::uintptr_t>(elements.array.data) - begin);
  return elements;
}

}  // namespace simmesh::python
