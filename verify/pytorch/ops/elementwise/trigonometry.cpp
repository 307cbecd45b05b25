#include "core/ops/elementwise/trigonometry.h"

#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions trigonometry_functions() {
  PythonFunctions functions = {
      of_two_tensors(everywhere("atan2"), atan2),
      of_two_tensors(everywhere("hypot"), hypot),
  };
  add_unary_functions(functions, {"acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh",
                                  "sin", "sinh", "tan", "tanh"});
  return functions;
}

const PythonFamily trigonometry_family(trigonometry_functions);

}  // namespace

}  // namespace simmesh
