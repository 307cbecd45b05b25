#include "core/ops/shapes/factories.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions factories_functions() {
  return {
      {"torch.zeros_like aten.zeros_like.default",
       PythonSignature("Tensor self, *, dtype? dtype=None"),
       [](PythonCall& call) -> PythonValue {
         return zeros_like(call.tensor("self"), call.dtype("dtype"));
       }},
      {"torch.ones_like aten.ones_like.default",
       PythonSignature("Tensor self, *, dtype? dtype=None"),
       [](PythonCall& call) -> PythonValue {
         return ones_like(call.tensor("self"), call.dtype("dtype"));
       }},
      {"torch.full_like aten.full_like.default",
       PythonSignature("Tensor self, Scalar fill_value, *, dtype? dtype=None"),
       [](PythonCall& call) -> PythonValue {
         return full_like(call.tensor("self"), call.real("fill_value"), call.dtype("dtype"));
       }},
      {"Tensor.new_zeros aten.new_zeros.default",
       PythonSignature("Tensor self, int[] size, *, dtype? dtype=None"),
       [](PythonCall& call) -> PythonValue {
         return new_full(call.tensor("self"), call.dims("size"), 0, call.dtype("dtype"));
       }},
      {"Tensor.new_ones aten.new_ones.default",
       PythonSignature("Tensor self, int[] size, *, dtype? dtype=None"),
       [](PythonCall& call) -> PythonValue {
         return new_full(call.tensor("self"), call.dims("size"), 1, call.dtype("dtype"));
       }},
      {"Tensor.new_full aten.new_full.default",
       PythonSignature("Tensor self, int[] size, Scalar fill_value, *, dtype? dtype=None"),
       [](PythonCall& call) -> PythonValue {
         return new_full(call.tensor("self"), call.dims("size"), call.real("fill_value"),
                         call.dtype("dtype"));
       }},
  };
}

const PythonFamily factories_family(factories_functions);

}  // namespace

}  // namespace simmesh
