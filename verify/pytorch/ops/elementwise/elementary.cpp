#include "core/ops/elementwise/elementary.h"

#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions elementary_functions() {
  PythonFunctions functions = {
      of_two_tensors(everywhere("logaddexp"), logaddexp),
      of_two_tensors(everywhere("xlogy", "Tensor"), xlogy),
  };
  add_unary_functions(
      functions, {"ceil", "erf", "erfc", "exp", "exp2", "expm1", "floor", "log", "log10", "log1p",
                  "log2", "round", "rsqrt", "sigmoid", "sqrt", "trunc"});
  return functions;
}

const PythonFamily elementary_family(elementary_functions);

}  // namespace

}  // namespace simmesh
