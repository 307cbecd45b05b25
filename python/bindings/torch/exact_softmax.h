#pragma once

#include <nanobind/nanobind.h>

#include "python/bindings/torch/form_call.h"

namespace simmesh::python {

// Forms of softmax(x) and of its gradient y * (g - sum(g * y)), along the last dim of contiguous
// tensors of one dtype: computed in float64, with an exact sum over each row that is rounded once,
// and rounded once into the result. Other calls are left to others, and so are rows whose largest
// element, or any element of a gradient, isn't finite.
nanobind::object softmax_form(const FormCall& call);
nanobind::object softmax_gradient_form(const FormCall& call);

}  // namespace simmesh::python
