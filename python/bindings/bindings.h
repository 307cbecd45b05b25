#pragma once

#include <nanobind/nanobind.h>

namespace simmesh::python {

// Each function adds one concept to the module, and classes before the functions that take them, so
// that signatures show Python's names.
void bind_errors(nanobind::module_& module);
void bind_ranks(nanobind::module_& module);
void bind_operations(nanobind::module_& module);
void bind_processes(nanobind::module_& module);
void bind_command(nanobind::module_& module);
void bind_examination(nanobind::module_& module);
void bind_findings(nanobind::module_& module);
void bind_shards(nanobind::module_& module);
void bind_placement(nanobind::module_& module);
void bind_mesh(nanobind::module_& module);
void bind_tensor(nanobind::module_& module);
void bind_plan(nanobind::module_& module);
void bind_zero_config(nanobind::module_& module);
void bind_verify(nanobind::module_& module);
void bind_validate(nanobind::module_& module);
void bind_gate(nanobind::module_& module);
void bind_compose(nanobind::module_& module);
void bind_dtensor(nanobind::module_& module);
void bind_arithmetic(nanobind::module_& module);
void bind_work(nanobind::module_& module);
void bind_collectives(nanobind::module_& module);
void bind_record(nanobind::module_& module);
void bind_own_contents(nanobind::module_& module);
void bind_exact(nanobind::module_& module);
void bind_exact_record(nanobind::module_& module);
void bind_exact_operators(nanobind::module_& module);
void bind_exact_dispatch(nanobind::module_& module);
void bind_kept_records(nanobind::module_& module);
void bind_typed(nanobind::module_& module);

}  // namespace simmesh::python
