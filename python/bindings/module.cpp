#include <nanobind/stl/string.h>

#include "core/check/repro.h"
#include "python/bindings/bindings.h"

NB_MODULE(_core, module) {
  module.doc() = "The C++ side of simmesh.";
  module.attr("__version__") = std::string(simmesh::version());
  module.attr("__revision__") = std::string(simmesh::revision());
  simmesh::python::bind_errors(module);
  simmesh::python::bind_command(module);
}
