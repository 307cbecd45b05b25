#pragma once

#include <nanobind/nanobind.h>
#include <optional>

#include "core/tensor/tensor.h"
#include "python/bindings/casts/dtype_word.h"

namespace simmesh::python {

// Conversions of tensors to arrays of other libraries, and back. A storage's buffer is copied when
// it has several owners and one of them writes; an array that views its bytes is such an owner, so
// the array keeps its elements.

// to_numpy returns a read-only array of NumPy over the tensor's bytes. Raises a RuntimeError for a
// tensor without elements, and a TypeError for bfloat16 without the package ml_dtypes.
nanobind::object to_numpy(const Tensor& tensor);

// as_numpy_wants is NumPy's __array__: the array itself, in another dtype, or a copy.
nanobind::object as_numpy_wants(const Tensor& tensor, const nanobind::object& dtype,
                                const nanobind::object& copy);

// listed returns the elements as a NumPy array of a dtype that NumPy has: bfloat16 as float32.
nanobind::object listed(const Tensor& tensor);

// to_dlpack is __dlpack__: a capsule over a copy, or with copy == false over the tensor's own
// bytes, marked as read-only. Raises a BufferError if the consumer doesn't know that mark.
nanobind::object to_dlpack(const Tensor& tensor, const nanobind::object& max_version,
                           const nanobind::object& dl_device, std::optional<bool> copy);

// from_foreign copies an array of another library. Raises a TypeError for an object that is none
// and for an element type that simmesh doesn't have.
Tensor from_foreign(const nanobind::object& array);

// tensor_of_data copies nested lists or an array, in that dtype if one is given.
Tensor tensor_of_data(const nanobind::object& data, const std::optional<DTypeWord>& dtype);

}  // namespace simmesh::python
