#include "core/ops/reductions/logcumsumexp.h"

#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions logcumsumexp_functions() {
  return {
      scan_along_dim(everywhere("logcumsumexp"), logcumsumexp),
  };
}

const PythonFamily logcumsumexp_family(logcumsumexp_functions);

}  // namespace

}  // namespace simmesh
