#include "core/check/error.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/functions/closeness.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/order_statistics.h"
#include "core/ops/reductions/sums.h"
#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

// Refuses a call that PyTorch can't run on distributed tensors, in its words.
void refuse_distributed(const Tensor& x, const char* name, ErrorKind kind, const char* phrase) {
  if (x.distribution())
    raise(kind, name, "{}: expected a plain tensor, got a distributed one", phrase);
}

constexpr const char* mixed_phrase = "got mixed torch.Tensor and DTensor";
constexpr const char* failed_phrase = "Sharding propagation failed";

PythonFunctions functions_of_plain_tensors() {
  return {
      {"torch.quantile Tensor.quantile",
       PythonSignature("Tensor self, float q, int dim, bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         Tensor x = call.tensor("self");
         refuse_distributed(x, "quantile", ErrorKind::runtime_error, mixed_phrase);
         return quantile(
             x, {.q = call.real("q"), .dim = call.integer("dim"), .keepdim = call.flag("keepdim")});
       }},
      {"torch.argwhere Tensor.argwhere", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue {
         Tensor x = call.tensor("self");
         refuse_distributed(x, "argwhere", ErrorKind::runtime_error, failed_phrase);
         return nonzero(x);
       }},
      {"torch.is_nonzero Tensor.is_nonzero", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue {
         Tensor x = call.tensor("self");
         refuse_distributed(x, "is_nonzero", ErrorKind::runtime_error,
                            "aten.is_nonzero.default is not supported");
         return item(x).as<double>() != 0;
       }},
      {"torch.allclose Tensor.allclose",
       PythonSignature("Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, "
                       "bool equal_nan=False"),
       [](PythonCall& call) -> PythonValue {
         Tensor x = call.tensor("self");
         refuse_distributed(x, "allclose", ErrorKind::runtime_error, failed_phrase);
         return allclose(x, call.tensor("other"),
                         {.relative = call.real("rtol"),
                          .absolute = call.real("atol"),
                          .equal_nan = call.flag("equal_nan")});
       }},
      {"torch.addbmm Tensor.addbmm aten.addbmm.default",
       PythonSignature(
           "Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1"),
       [](PythonCall& call) -> PythonValue {
         Tensor x = call.tensor("self");
         refuse_distributed(x, "addbmm", ErrorKind::not_implemented_error,
                            "Operator aten.addbmm.default does not have a sharding strategy "
                            "registered");
         Tensor products = sum(bmm(call.tensor("batch1"), call.tensor("batch2")), 0);
         return add(mul(x, call.number("beta")), products, call.number("alpha"));
       }},
  };
}

const PythonFamily family_of_plain_functions(functions_of_plain_tensors);

}  // namespace

}  // namespace simmesh
