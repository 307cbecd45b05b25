#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/detail/nb_list.h>

#include "core/tensor/dims.h"

// Any sequence of integers is accepted as Dims, and Dims are returned as a tuple, as PyTorch's
// shapes are.
template <>
struct nanobind::detail::type_caster<simmesh::Dims> : list_caster<simmesh::Dims, std::int64_t> {
  static constexpr auto Name = io_name("collections.abc.Sequence[int]", "tuple[int, ...]");

  static handle from_cpp(const simmesh::Dims& dims, rv_policy, cleanup_list*) {
    object result = steal(PyTuple_New(Py_ssize_t(dims.size())));
    for (std::size_t i = 0; i < dims.size(); ++i)
      PyTuple_SET_ITEM(result.ptr(), Py_ssize_t(i), PyLong_FromLongLong(dims.data()[i]));
    return result.release();
  }
};
