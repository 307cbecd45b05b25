#include "core/check/error.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/functions/bilinear.h"
#include "core/ops/functions/closeness.h"
#include "core/ops/functions/embedding_bag.h"
#include "core/ops/functions/grids.h"
#include "core/ops/functions/runs.h"
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

PythonValue unique_consecutive_call(PythonCall& call) {
  Tensor x = call.tensor("self");
  refuse_distributed(x, "unique_consecutive", ErrorKind::runtime_error, failed_phrase);
  Runs runs = unique_consecutive(x, call.integer_if("dim"));
  std::vector<Tensor> results = {runs.values};
  if (call.flag("return_inverse")) results.push_back(runs.inverse);
  if (call.flag("return_counts")) results.push_back(runs.counts);
  if (results.size() == 1) return runs.values;
  return results;
}

// PyTorch makes the offsets of bags that are rows of a matrix, as a plain tensor.
PythonValue embedding_bag_call(PythonCall& call) {
  Tensor input = call.tensor("input"), weight = call.tensor("weight");
  Tensor offsets = call.tensor("offsets"), weights = call.tensor("per_sample_weights");
  const std::string mode = call.text("mode");
  if (mode != "sum" && mode != "mean" && mode != "max")
    raise(ErrorKind::value_error, "embedding_bag", "mode has to be one of sum, mean or max, got {}",
          mode);
  bool has_bags = input.dim() == 2 ? !offsets.is_defined()
                                   : input.dim() == 1 && offsets.is_defined() && offsets.dim() == 1;
  if (has_bags && (input.distribution() || weight.distribution())) {
    bool is_mixed = input.dim() == 2 || !input.distribution() || !weight.distribution() ||
                    (offsets.is_defined() && !offsets.distribution());
    const Tensor& given = input.distribution() ? input : weight;
    if (is_mixed)
      refuse_distributed(given, "embedding_bag", ErrorKind::runtime_error, mixed_phrase);
    refuse_distributed(given, "embedding_bag", ErrorKind::not_implemented_error,
                       "Operator aten._embedding_bag.default does not have a sharding strategy "
                       "registered");
  }
  EmbeddingBags bags{.offsets = offsets,
                     .weights = weights,
                     .includes_last_offset = call.flag("include_last_offset"),
                     .padding_idx = call.integer_if("padding_idx")};
  bags.mode = mode == "sum" ? BagMode::sum : mode == "mean" ? BagMode::mean : BagMode::max;
  return embedding_bag(input, weight, bags);
}

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

PythonFunctions functions_beside_plain_tensors() {
  return {
      {"torch.vander", PythonSignature("Tensor x, int? N=None, bool increasing=False"),
       [](PythonCall& call) -> PythonValue {
         Tensor x = call.tensor("x");
         std::optional<std::int64_t> columns = call.integer_if("N");
         if (x.dim() == 1 && columns.value_or(x.numel()) > 1)
           refuse_distributed(x, "vander", ErrorKind::runtime_error, mixed_phrase);
         return vander(x, {.columns = columns, .increasing = call.flag("increasing")});
       }},
      {"torch.unique_consecutive Tensor.unique_consecutive",
       PythonSignature("Tensor self, bool return_inverse=False, bool return_counts=False, "
                       "int? dim=None"),
       unique_consecutive_call},
      {"torch.nn.functional.embedding_bag",
       PythonSignature("Tensor input, Tensor weight, Tensor? offsets=None, float? max_norm=None, "
                       "float norm_type=2, bool scale_grad_by_freq=False, str mode='mean', "
                       "bool sparse=False, Tensor? per_sample_weights=None, "
                       "bool include_last_offset=False, int? padding_idx=None"),
       embedding_bag_call},
      {"torch.nn.functional.bilinear aten.bilinear.default",
       PythonSignature("Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None"),
       [](PythonCall& call) -> PythonValue {
         Tensor a = call.tensor("input1"), b = call.tensor("input2"),
                weight = call.tensor("weight");
         for (const Tensor& one : {a, b, weight}) {
           if (!a.distribution() || !b.distribution() || !weight.distribution())
             refuse_distributed(one, "bilinear", ErrorKind::runtime_error, mixed_phrase);
           refuse_distributed(one, "bilinear", ErrorKind::not_implemented_error,
                              "Operator aten._trilinear.default does not have a sharding strategy "
                              "registered");
         }
         return bilinear(a, b, weight, call.tensor("bias"));
       }},
      {everywhere("imag"), PythonSignature("Tensor self"),
       [](PythonCall&) -> PythonValue {
         raise(ErrorKind::type_error, "imag",
               "imag is not implemented for tensors with non-complex dtypes.");
       }},
  };
}

const PythonFamily family_beside_plain_tensors(functions_beside_plain_tensors);
const PythonFamily family_of_plain_functions(functions_of_plain_tensors);

}  // namespace

}  // namespace simmesh
