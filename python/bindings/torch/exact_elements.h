#pragma once

#include <bit>
#include <cstdint>
#include <nanobind/nanobind.h>

#include "core/arithmetic/companions/exact_record.h"
#include "python/bindings/torch/torch_array.h"

namespace simmesh::python {

// storage_offset_of returns the place of a tensor's data in its storage, in bytes.
inline std::int64_t storage_offset_of(nanobind::handle tensor, const std::byte* data) {
  auto begin = nanobind::cast<std::uintptr_t>(tensor.attr("untyped_storage")().attr("data_ptr")());
  return std::int64_t(std::bit_cast<std::uintptr_t>(data) - begin);
}

// elements_of_storage describes a floating or complex tensor and its place in its storage.
inline ElementsOfStorage elements_of_storage(nanobind::handle tensor) {
  ElementsOfStorage elements{.array = element_array(tensor)};
  elements.offset = storage_offset_of(tensor, elements.array.data);
  return elements;
}

// bytes_of_storage does so for a tensor of any dtype, whose elements are only written over.
inline ElementsOfStorage bytes_of_storage(nanobind::handle tensor) {
  HostArray array = torch_array(tensor);
  return {{array.data, array.dtype, array.shape, array.strides},
          storage_offset_of(tensor, array.data)};
}

}  // namespace simmesh::python
