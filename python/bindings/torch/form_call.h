#pragma once

#include <cstddef>
#include <nanobind/nanobind.h>

namespace simmesh::python {

// FormCall is a call of an operator. `torchs` is torch's own function for it; `options` is null
// where there are none; in the step of an optimizer arithmetic rounds.
struct FormCall {
  nanobind::handle torchs;
  nanobind::handle args;
  nanobind::handle options;
  bool is_in_step = false;

  std::size_t count() const { return std::size_t(PyTuple_GET_SIZE(args.ptr())); }
  nanobind::handle arg(std::size_t i) const { return PyTuple_GET_ITEM(args.ptr(), Py_ssize_t(i)); }
  // call_torch calls torchs. Raises what it raises.
  nanobind::object call_torch() const;
};

}  // namespace simmesh::python
