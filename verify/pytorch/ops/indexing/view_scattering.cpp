#include "core/ops/indexing/view_scattering.h"

#include "verify/pytorch/ops/call_arguments.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions view_scattering_functions() {
  return {
      {everywhere("select_scatter"), PythonSignature("Tensor self, Tensor src, int dim, int index"),
       [](PythonCall& call) -> PythonValue {
         return select_scatter(call.tensor("self"), call.tensor("src"), call.integer("dim"),
                               call.integer("index"));
       }},
      {everywhere("slice_scatter"),
       PythonSignature("Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, "
                       "int step=1"),
       [](PythonCall& call) -> PythonValue {
         return slice_scatter(call.tensor("self"), call.tensor("src"), slice_range(call));
       }},
  };
}

const PythonFamily view_scattering_family(view_scattering_functions);

}  // namespace

}  // namespace simmesh
