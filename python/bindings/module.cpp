#include <nanobind/stl/string.h>

#include "core/check/repro.h"
#include "python/bindings/bindings.h"

NB_MODULE(_core, module) {
  // Exceptions of failed tests are often kept until Python ends, with everything in their frames.
  nanobind::set_leak_warnings(false);
  module.doc() = "The C++ side of simmesh.";
  module.attr("version") = std::string(simmesh::version());
  module.attr("revision") = std::string(simmesh::revision());
  simmesh::python::bind_errors(module);
  simmesh::python::bind_ranks(module);
  simmesh::python::bind_operations(module);
  simmesh::python::bind_processes(module);
  simmesh::python::bind_command(module);
  simmesh::python::bind_examination(module);
  simmesh::python::bind_findings(module);
  simmesh::python::bind_shards(module);
  simmesh::python::bind_placement(module);
  simmesh::python::bind_mesh(module);
  simmesh::python::bind_tensor(module);
  simmesh::python::bind_plan(module);
  simmesh::python::bind_zero_config(module);
  simmesh::python::bind_verify(module);
  simmesh::python::bind_validate(module);
  simmesh::python::bind_gate(module);
  simmesh::python::bind_compose(module);
  simmesh::python::bind_dtensor(module);
  simmesh::python::bind_arithmetic(module);
  simmesh::python::bind_work(module);
  simmesh::python::bind_collectives(module);
  simmesh::python::bind_record(module);
  simmesh::python::bind_own_contents(module);
  nanobind::module_ exact = module.def_submodule(
      "exact", "Exact values behind the elements of CPU tensors of torch, and steps of exact ops.");
  simmesh::python::bind_exact(exact);
  simmesh::python::bind_exact_record(exact);
  simmesh::python::bind_kept_records(exact);
  simmesh::python::bind_exact_operators(exact);
  simmesh::python::bind_exact_dispatch(exact);
  nanobind::module_ typed = module.def_submodule(
      "typed", "What the ranks hold of a plain tensor, as a type on each mesh axis.");
  simmesh::python::bind_typed(typed);
}
