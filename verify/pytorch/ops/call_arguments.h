#pragma once

#include "core/ops/kernels/windows.h"
#include "core/ops/reductions/extremes.h"
#include "core/ops/reductions/sorting.h"
#include "core/ops/view_arguments.h"
#include "verify/pytorch/ops/python_call.h"

namespace simmesh {

// Arguments and results that functions of several families have.

// slice_range reads the arguments dim, start, end and step.
SliceRange slice_range(const PythonCall& call);

// rows_columns reads one number, which stands for both, or two. Raises a RuntimeError for more.
RowsColumns rows_columns(const PythonCall& call, std::string_view name);

// values_and_indices returns a result of two tensors.
PythonValue values_and_indices(const ValuesAndIndices& found);
PythonValue values_and_indices(const Sorted& found);

}  // namespace simmesh
