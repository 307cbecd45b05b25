#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions gamma_functions() {
  PythonFunctions functions;
  add_unary_functions(functions, {"digamma", "lgamma"});
  return functions;
}

const PythonFamily gamma_family(gamma_functions);

}  // namespace

}  // namespace simmesh
