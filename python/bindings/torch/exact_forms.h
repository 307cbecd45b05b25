#pragma once

#include <nanobind/nanobind.h>
#include <string_view>

#include "python/bindings/torch/form_call.h"

namespace simmesh::python {

// Form computes the calls of an operator that programs make most. It returns null for other calls,
// where it may have called torch's own function, which writes no operand then.
using Form = nanobind::object (*)(const FormCall& call);

// form_named returns the form of an operator, by its name in the table of operators; null where
// there is none.
Form form_named(std::string_view name);

// drop_if_leaf ends what stands behind a leaf that an operator wrote, whose values are rounded.
void drop_if_leaf(nanobind::handle tensor);

}  // namespace simmesh::python
