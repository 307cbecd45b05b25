#pragma once

#include <nanobind/nanobind.h>

namespace simmesh::python {

// Each function adds one concept to the module, and classes before the functions that take them.
void bind_errors(nanobind::module_& module);
void bind_command(nanobind::module_& module);

}  // namespace simmesh::python
