#include "core/ops/elementwise/conversion.h"

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/registry/registry.h"
#include "core/tensor/scalar_value.h"
#include "sharding/dtensor/dtensor.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

// The one element of a tensor, as Python has it; of a distributed one that of the whole.
PythonValue item_of(Tensor x) {
  if (x.numel() != 1)
    raise(ErrorKind::runtime_error, "item",
          "a Tensor with {} elements cannot be converted to Scalar", x.numel());
  if (x.distribution()) x = DTensor::of(x).full_tensor();
  double value = scalar_value(x.detach());
  if (x.dtype() == DType::boolean) return value != 0;
  if (!is_floating_point(x.dtype())) return std::int64_t(value);
  return value;
}

PythonFunctions conversion_functions() {
  return {
      {"Tensor.bool", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return to(call.tensor("self"), DType::boolean); }},
      {"Tensor.float", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return to(call.tensor("self"), DType::float32); }},
      {"Tensor.double", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return to(call.tensor("self"), DType::float64); }},
      {"Tensor.to", PythonSignature("Tensor self, dtype dtype"),
       [](PythonCall& call) -> PythonValue {
         return to(call.tensor("self"), *call.dtype("dtype"));
       }},
      {"aten._to_copy.default", PythonSignature("Tensor self, *, dtype? dtype=None"),
       [](PythonCall& call) -> PythonValue {
         Tensor self = call.tensor("self");
         return call_one(*find_op("_to_copy"), {self},
                         {attribute::dtype = call.dtype("dtype").value_or(self.dtype())});
       }},
      {"Tensor.item", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return item_of(call.tensor("self")); }},
  };
}

const PythonFamily conversion_family(conversion_functions);

}  // namespace

}  // namespace simmesh
