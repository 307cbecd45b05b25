#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/bindings.h"
#include "python/bindings/interruptible.h"
#include "tools/examination.h"

namespace simmesh::python {

namespace nb = nanobind;

void bind_examination(nb::module_& module) {
  nb::class_<Finding>(module, "Finding", "One value that `simmesh doctor` prints.")
      .def_ro("name", &Finding::name, "What was looked at.")
      .def_ro("value", &Finding::value, "What was found.")
      .def_ro("expected", &Finding::expected, "What must be found; empty if anything is fine.")
      .def_prop_ro("ok", &Finding::ok, "Whether it is what must be found.")
      .def("__repr__",
           [](const Finding& finding) { return "<" + finding.name + ": " + finding.value + ">"; });
  module.def(
      "doctor", [] { return interruptible([] { return examine(); }); },
      "Looks at versions, the machine and the library's own arithmetic: what `simmesh doctor` "
      "prints.");
}

}  // namespace simmesh::python
