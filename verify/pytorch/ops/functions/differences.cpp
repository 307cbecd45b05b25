#include "core/ops/functions/differences.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions differences_functions() {
  return {
      {everywhere("diff"),
       PythonSignature("Tensor self, int n=1, int dim=-1, Tensor? prepend=None, "
                       "Tensor? append=None"),
       [](PythonCall& call) -> PythonValue {
         return diff(call.tensor("self"), {.times = call.integer("n"),
                                           .dim = call.integer("dim"),
                                           .prepend = call.tensor("prepend"),
                                           .append = call.tensor("append")});
       }},
  };
}

const PythonFamily differences_family(differences_functions);

}  // namespace

}  // namespace simmesh
