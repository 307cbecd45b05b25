#include "core/ops/indexing/resampling.h"

#include "core/check/error.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions resampling_functions() {
  return {
      {everywhere("rot90"), PythonSignature("Tensor self, int k=1, int[]? dims=None"),
       [](PythonCall& call) -> PythonValue {
         Dims dims = call.has("dims") ? call.dims("dims") : Dims{0, 1};
         return rot90(call.tensor("self"), call.integer("k"), dims);
       }},
      {"torch.block_diag", PythonSignature("Tensor a, Tensor b"),
       [](PythonCall& call) -> PythonValue {
         return block_diag(std::vector<Tensor>{call.tensor("a"), call.tensor("b")});
       }},
      {"torch.nn.functional.interpolate",
       PythonSignature("Tensor self, int[]? size=None, Scalar? scale_factor=None, "
                       "str mode='nearest'"),
       [](PythonCall& call) -> PythonValue {
         if (call.text("mode") != "nearest")
           raise(ErrorKind::not_implemented_error, "verify/pytorch",
                 "expected the mode nearest, got {}", call.text("mode"));
         Upsampling options{.size = call.dims("size")};
         if (call.has("scale_factor")) options.scale = call.real("scale_factor");
         return upsample_nearest(call.tensor("self"), options);
       }},
  };
}

const PythonFamily resampling_family(resampling_functions);

}  // namespace

}  // namespace simmesh
