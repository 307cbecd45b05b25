#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "core/ops/reductions/sums.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

// These forms are common to functions of several families. Each takes the function's names and its
// computation.

// of_tensor returns f(self).
PythonFunction of_tensor(std::string names, Tensor (*function)(const Tensor& x));

// of_two_tensors returns f(self, other).
PythonFunction of_two_tensors(std::string names,
                              Tensor (*function)(const Tensor& a, const Tensor& b));

// of_tensor_or_number returns f(self, other), where other is a tensor or a number.
PythonFunction of_tensor_or_number(std::string names,
                                   Tensor (*of_tensors)(const Tensor& a, const Tensor& b),
                                   Tensor (*of_number)(const Tensor& a, Number b));

// with_sizes returns f(self, sizes) with a signature of its own, in which `sizes` is a list of
// ints.
PythonFunction with_sizes(std::string names, const char* signature, const char* sizes,
                          Tensor (*function)(const Tensor& x, DimSpan sizes));

// over_dims returns f(self, dim=None, keepdim=False); no dim, like an empty list, means all dims.
PythonFunction over_dims(std::string names,
                         Tensor (*function)(const Tensor& x, const DimList& dims, bool keepdim));

// nansum_of_parts is nansum as PyTorch has it, which assumes that no part of a partial sum is NaN.
Tensor nansum_of_parts(const Tensor& x, const Dims& dims, bool keepdim);

// scan_along_dim returns f(self, dim, *, dtype=None); elements are first converted to the dtype.
PythonFunction scan_along_dim(std::string names,
                              Tensor (*function)(const Tensor& x, std::int64_t dim));

// add_unary_functions adds functions of one tensor that are one op of the same name here, and their
// forms in place. A name that is no op breaks a contract of ours.
void add_unary_functions(PythonFunctions& functions, std::initializer_list<const char*> names);

}  // namespace simmesh
