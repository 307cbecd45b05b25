#include "core/ops/neural/normalization.h"

#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/kernels/normalized_groups.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/registry/registry.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

double spacing_at_one(DType dtype) {
  return dtype == DType::float64    ? 0x1p-52
         : dtype == DType::bfloat16 ? 0x1p-7
         : dtype == DType::float16  ? 0x1p-10
                                    : 0x1p-23;
}

// Where there is no fused kernel, PyTorch puts rms_norm together: what lies cut along the
// normalized dims stays cut.
Tensor composed_rms_norm(const PythonCall& call) {
  Tensor x = call.tensor("self");
  std::int64_t count = std::int64_t(call.dims("normalized_shape").size());
  Dims dims;
  for (std::int64_t dim = x.dim() - count; dim < x.dim(); ++dim) dims.push_back(dim);
  double eps = call.has("eps") ? call.real("eps") : spacing_at_one(x.dtype());
  Tensor root = rsqrt(mean(pow(x, 2), dims, true) + eps);
  Tensor normalized = x * root;
  return call.has("weight") ? normalized * call.tensor("weight") : normalized;
}

Attributes normalized_shape_of(const PythonCall& call) {
  return {attribute::normalized_shape = call.dims("normalized_shape"),
          attribute::eps = call.real("eps")};
}

PythonFunctions normalization_functions() {
  return {
      {"torch.nn.functional.layer_norm torch.layer_norm",
       PythonSignature("Tensor self, int[] normalized_shape, Tensor? weight=None, "
                       "Tensor? bias=None, float eps=1e-05"),
       [](PythonCall& call) -> PythonValue {
         return layer_norm(call.tensor("self"), call.dims("normalized_shape"),
                           call.tensor("weight"), call.tensor("bias"), call.real("eps"));
       }},
      {"aten.native_layer_norm.default",
       PythonSignature("Tensor self, int[] normalized_shape, Tensor? weight, Tensor? bias, "
                       "float eps"),
       [](PythonCall& call) -> PythonValue {
         return simmesh::call(*find_op("native_layer_norm"),
                              {call.tensor("self"), call.tensor("weight"), call.tensor("bias")},
                              normalized_shape_of(call));
       }},
      {"torch.nn.functional.rms_norm torch.rms_norm",
       PythonSignature("Tensor self, int[] normalized_shape, Tensor? weight=None, "
                       "float? eps=None"),
       [](PythonCall& call) -> PythonValue { return composed_rms_norm(call); }},
      {"aten._fused_rms_norm.default",
       PythonSignature("Tensor self, int[] normalized_shape, Tensor? weight, float eps"),
       [](PythonCall& call) -> PythonValue {
         return simmesh::call(*find_op("_fused_rms_norm"),
                              {call.tensor("self"), call.tensor("weight")},
                              normalized_shape_of(call));
       }},
      {"torch.nn.functional.group_norm torch.group_norm",
       PythonSignature("Tensor self, int num_groups, Tensor? weight=None, Tensor? bias=None, "
                       "float eps=1e-05"),
       [](PythonCall& call) -> PythonValue {
         return group_norm(call.tensor("self"), call.integer("num_groups"), call.tensor("weight"),
                           call.tensor("bias"), call.real("eps"));
       }},
  };
}

const PythonFamily normalization_family(normalization_functions);

}  // namespace

}  // namespace simmesh
