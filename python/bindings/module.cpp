#include <nanobind/stl/string.h>

#include "core/check/repro.h"
#include "python/bindings/bindings.h"

NB_MODULE(_core, module) {
  using namespace simmesh::python;
  module.doc() = "The C++ side of simmesh.";
  module.attr("__version__") = std::string(simmesh::version());
  module.attr("__revision__") = std::string(simmesh::revision());
  bind_errors(module);
  bind_command(module);
  bind_examination(module);
  bind_placement(module);
  bind_mesh(module);
  bind_tensor(module);
  bind_plan(module);
  bind_verify(module);
  bind_validate(module);
  bind_gate(module);
}
