#include "core/ops/shapes/unfolding.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions unfolding_functions() {
  return {
      {"Tensor.unfold aten.unfold.default",
       PythonSignature("Tensor self, int dimension, int size, int step"),
       [](PythonCall& call) -> PythonValue {
         return unfold(call.tensor("self"), {.dim = call.integer("dimension"),
                                             .size = call.integer("size"),
                                             .step = call.integer("step")});
       }},
  };
}

const PythonFamily unfolding_family(unfolding_functions);

}  // namespace

}  // namespace simmesh
