#include <nanobind/stl/string.h>

#include "core/check/error.h"
#include "core/tensor/tensor.h"
#include "python/bindings/as_rank.h"
#include "python/bindings/bindings.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

void bind_record(nb::module_& module) {
  module.def(
      "record", [](const Tensor& tensor) { rank_of_run("record").record(tensor); }, "tensor"_a,
      "Folds dtype, shape and bits of a tensor into the rank's part of the data hash.");
  module.def(
      "expect_same_bits",
      [](const Tensor& actual, const Tensor& expected) {
        std::string difference = difference_in_bits(actual, expected);
        if (!difference.empty())
          raise(ErrorKind::assertion_error, "python/expect_same_bits", "{}", difference);
      },
      "actual"_a, "expected"_a,
      "Raises an AssertionError that says how two tensors differ, unless their bits are equal.");
}

}  // namespace simmesh::python
