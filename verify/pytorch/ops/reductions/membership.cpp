#include "core/ops/reductions/membership.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions membership_functions() {
  return {
      {everywhere("isin", "Tensor_Tensor"),
       PythonSignature("Tensor elements, Tensor test_elements, *, bool assume_unique=False, "
                       "bool invert=False"),
       [](PythonCall& call) -> PythonValue {
         return isin(call.tensor("elements"), call.tensor("test_elements"), call.flag("invert"));
       }},
      {everywhere("bincount"),
       PythonSignature("Tensor self, Tensor? weights=None, int minlength=0"),
       [](PythonCall& call) -> PythonValue {
         return bincount(call.tensor("self"), call.tensor("weights"), call.integer("minlength"));
       }},
  };
}

const PythonFamily membership_family(membership_functions);

}  // namespace

}  // namespace simmesh
