#include <nanobind/nanobind.h>

#include "core/check/repro.h"

namespace nb = nanobind;

NB_MODULE(_core, module) {
  module.doc() = "The C++ side of simmesh.";
  module.attr("version") = std::string(simmesh::version());
}
