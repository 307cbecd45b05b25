#include "core/ops/neural/batch_normalization.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions batch_normalization_functions() {
  return {
      {"torch.nn.functional.batch_norm",
       PythonSignature("Tensor self, Tensor? running_mean, Tensor? running_var, "
                       "Tensor? weight=None, Tensor? bias=None, bool training=False, "
                       "float momentum=0.1, float eps=1e-05"),
       [](PythonCall& call) -> PythonValue {
         return batch_norm(call.tensor("self"), {.running_mean = call.tensor("running_mean"),
                                                 .running_var = call.tensor("running_var"),
                                                 .weight = call.tensor("weight"),
                                                 .bias = call.tensor("bias"),
                                                 .training = call.flag("training"),
                                                 .momentum = call.real("momentum"),
                                                 .eps = call.real("eps")});
       }},
  };
}

const PythonFamily batch_normalization_family(batch_normalization_functions);

}  // namespace

}  // namespace simmesh
