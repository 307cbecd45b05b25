#include "core/ops/shapes/aliases.h"

#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions aliases_functions() {
  PythonFunctions functions = {
      of_tensor("aten.alias.default", alias),
      of_tensor(everywhere("view_as_real"), view_as_real),
      of_tensor(everywhere("view_as_complex"), view_as_complex),
  };
  add_unary_functions(functions, {"positive"});
  return functions;
}

const PythonFamily aliases_family(aliases_functions);

}  // namespace

}  // namespace simmesh
