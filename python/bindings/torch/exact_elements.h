#pragma once

#include <cstdint>
#include <nanobind/nanobind.h>

#include "core/arithmetic/companions/exact_record.h"
#include "python/bindings/torch/torch_array.h"

namespace simmesh::python {

// storage_offset_of returns the place of a tensor's first element in its storage, in bytes.
inline std::int64_t storage_offset_of(nanobind::handle tensor) {
  return nanobind::cast<std::int64_t>(tensor.attr("storage_offset")()) *
         nanobind::cast<std::int64_t>(tensor.attr("element_size")());
}

// elements_of_storage describes a floating or complex tensor and its place in its storage.
inline ElementsOfStorage elements_of_storage(nanobind::handle tensor) {
  return {.array = element_array(tensor), .offset = storage_offset_of(tensor)};
}

// bytes_of_storage does so for a tensor of any dtype, whose elements are only written over.
inline ElementsOfStorage bytes_of_storage(nanobind::handle tensor) {
  HostArray array = torch_array(tensor);
  return {{array.data, array.dtype, array.shape, array.strides}, storage_offset_of(tensor)};
}

}  // namespace simmesh::python
