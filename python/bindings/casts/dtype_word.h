#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <string>
#include <variant>

#include "core/tensor/dtype.h"

namespace simmesh::python {

// DTypeWord is how Python names a dtype: "float32", torch.float32, numpy.float32 or
// numpy.dtype("float32").
using DTypeWord = std::variant<std::string, nanobind::object>;

// dtype_of_word returns the dtype. Raises a ValueError that lists the known names.
DType dtype_of_word(const DTypeWord& word);

}  // namespace simmesh::python
