#include "core/ops/reductions/scans.h"

#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions scans_functions() {
  return {
      scan_along_dim(everywhere("cumsum"), cumsum),
      scan_along_dim(everywhere("cumprod"), cumprod),
  };
}

const PythonFamily scans_family(scans_functions);

}  // namespace

}  // namespace simmesh
