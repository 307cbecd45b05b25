#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/dtype.h"

namespace simmesh {

// Complex tensors of cases are pairs of a real tensor here (see core/ops/elementwise/complex.h), so
// only functions that are written for pairs take them. These have names of their own.

// is_complex_dtype is true for complex64 and complex128; real_dtype returns the dtype of the pairs'
// elements, and any other dtype itself. Raises the ValueError of dtype_from_string.
bool is_complex_dtype(std::string_view dtype);
DType real_dtype(std::string_view dtype);

// of_complex returns the names, separated by spaces, under which functions take complex tensors.
std::string of_complex(std::string_view functions);

// function_on returns the name under which a function takes tensors of which some are complex: its
// own, if none is. There is no function of complex tensors beside real ones.
std::string function_on(std::string_view function, const std::vector<bool>& are_complex);

// is_of_complex is true for the names that of_complex and function_on make of others.
bool is_of_complex(std::string_view function);

// name_without_complex is the name of which of_complex or function_on made that one.
std::string_view name_without_complex(std::string_view function);

}  // namespace simmesh
