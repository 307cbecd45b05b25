#include "core/ops/random/random.h"

#include "core/ops/functions/default_generator.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions random_functions() {
  return {
      {"torch.nn.functional.dropout torch.dropout",
       PythonSignature("Tensor self, float p=0.5, bool training=True, bool inplace=False"),
       [](PythonCall& call) -> PythonValue {
         return dropout(call.tensor("self"), default_generator().next(),
                        {.p = call.real("p"), .training = call.flag("training")});
       }},
  };
}

const PythonFamily random_family(random_functions);

}  // namespace

}  // namespace simmesh
