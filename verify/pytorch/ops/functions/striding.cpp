#include "core/ops/functions/striding.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions striding_functions() {
  return {
      {everywhere("as_strided"),
       PythonSignature("Tensor self, int[] size, int[] stride, int? storage_offset=None"),
       [](PythonCall& call) -> PythonValue {
         return as_strided(call.tensor("self"), call.dims("size"), call.dims("stride"),
                           call.integer_if("storage_offset"));
       }},
  };
}

const PythonFamily striding_family(striding_functions);

}  // namespace

}  // namespace simmesh
