#pragma once

#include <nanobind/nanobind.h>
#include <string_view>

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

// Form computes the calls of an operator that programs make most. It returns null for other calls,
// where it may have called torch's own function, which writes no operand then.
using Form = nanobind::object (*)(const FormCall& call);

// form_named returns the form of an operator, by its name in the table of operators; null where
// there is none.
Form form_named(std::string_view name);

// drop_if_leaf ends what stands behind a leaf that an operator wrote, whose values are rounded.
void drop_if_leaf(nanobind::handle tensor);

}  // namespace simmesh::python
