#include "core/ops/matrices/compositions.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions compositions_functions() {
  return {
      {everywhere("kron"), PythonSignature("Tensor self, Tensor other"),
       [](PythonCall& call) -> PythonValue {
         return kron(call.tensor("self"), call.tensor("other"));
       }},
      {everywhere("cross"), PythonSignature("Tensor self, Tensor other, int? dim=None"),
       [](PythonCall& call) -> PythonValue {
         return cross(call.tensor("self"), call.tensor("other"), call.integer_if("dim"));
       }},
      {everywhere("cdist"), PythonSignature("Tensor x1, Tensor x2, float p=2"),
       [](PythonCall& call) -> PythonValue {
         return cdist(call.tensor("x1"), call.tensor("x2"), call.real("p"));
       }},
      {everywhere("renorm"), PythonSignature("Tensor self, Scalar p, int dim, Scalar maxnorm"),
       [](PythonCall& call) -> PythonValue {
         return renorm(
             call.tensor("self"),
             {.p = call.real("p"), .dim = call.integer("dim"), .max_norm = call.real("maxnorm")});
       }},
  };
}

const PythonFamily compositions_family(compositions_functions);

}  // namespace

}  // namespace simmesh
