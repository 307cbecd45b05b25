#include "python/bindings/bindings.h"
#include "python/bindings/torch/exact_operators.h"

namespace nb = nanobind;

namespace simmesh::python {

void bind_exact_operators(nb::module_& module) {
  module.def(
      "add_into", &add_into, nb::arg("target"), nb::arg("one"), nb::arg("other"),
      nb::arg("factor") = 1.0,
      "Writes one + factor * other of tensors or numbers, and keeps the exact values. False,\n"
      "and nothing done, where an operand is no floating tensor of the CPU.");
  module.def("multiply_into", &multiply_into, nb::arg("target"), nb::arg("one"), nb::arg("other"),
             "Writes one * other, as add_into does.");
  module.def("divide_into", &divide_into, nb::arg("target"), nb::arg("one"), nb::arg("divisor"),
             "Writes the quotients by a number or a tensor without dims, as add_into does.");
  module.def("product_into", &product_into, nb::arg("target"), nb::arg("a"), nb::arg("b"),
             "Writes the product of matrices, as add_into does.");
  module.def("add_product_into", &add_product_into, nb::arg("target"), nb::arg("added"),
             nb::arg("a"), nb::arg("b"), "Writes added + the product of matrices.");
  for (bool is_mean : {false, true})
    module.def(
        is_mean ? "mean_into" : "sum_into",
        [is_mean](nb::handle target, nb::handle source, nb::handle dims, bool) {
          return sum_into(target, source, dims, is_mean);
        },
        nb::arg("target"), nb::arg("source"), nb::arg("dims").none() = nb::none(),
        nb::arg("keeps_dims") = false, "Writes sums or means over neighbouring dims.");
  module.def(
      "added", &added, nb::arg("one"), nb::arg("other"), nb::arg("factor") = 1.0,
      "A new tensor of one + factor * other. None for operands that aren't contiguous and of\n"
      "one shape and dtype, or numbers.");
  module.def("multiplied", &multiplied, nb::arg("one"), nb::arg("other"),
             "A new tensor of one * other, or None, as added gives it.");
  module.def("multiplied_matrices", &multiplied_matrices, nb::arg("a"), nb::arg("b"),
             "A new tensor of the product of matrices. None for other shapes and dtypes.");
  module.def("move_behind", &move_behind, nb::arg("target"), nb::arg("source"),
             "Moves what stands behind a source to a target that has its elements already. False,\n"
             "and nothing done, for another dtype or shape.");
}

}  // namespace simmesh::python
