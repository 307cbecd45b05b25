#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/functions/diagonals.h"
#include "core/ops/kernels/reduction_call.h"
#include "core/ops/reductions/logcumsumexp.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/registry/registry.h"
#include "core/tensor/scalar_value.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/strategies/strategy.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

using Summing = Tensor (*)(const Tensor& x, const DimList& dims, bool keepdim,
                           std::optional<DType> dtype);
using Selecting = Tensor (*)(const Tensor& x, const DimList& dims, bool keepdim);

// A dim that isn't given, like an empty list of them, means all dims.
PythonFunction summing(std::string names, Summing function) {
  return {std::move(names),
          PythonSignature("Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None"),
          [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("self"), call.dims("dim"), call.flag("keepdim"),
                            call.dtype("dtype"));
          }};
}

PythonFunction selecting(std::string names, Selecting function) {
  return {std::move(names), PythonSignature("Tensor self, int[]? dim=None, bool keepdim=False"),
          [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("self"), call.dims("dim"), call.flag("keepdim"));
          }};
}

using Indexing = Tensor (*)(const Tensor& x, std::optional<std::int64_t> dim, bool keepdim);
PythonFunction indexing(std::string names, Indexing function) {
  return {std::move(names), PythonSignature("Tensor self, int? dim=None, bool keepdim=False"),
          [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("self"), call.integer_if("dim"), call.flag("keepdim"));
          }};
}

PythonValue prod_call(PythonCall& call) {
  if (!call.has("dim")) return prod(call.tensor("self"), call.dtype("dtype"));
  return prod(call.tensor("self"), call.dims("dim"), call.flag("keepdim"), call.dtype("dtype"));
}

// The operators for one dim give two results, those for all dims one.
using Whole = Tensor (*)(const Tensor& x);
using AlongDim = ValuesAndIndices (*)(const Tensor& x, std::int64_t dim, bool keepdim);
using OfPair = Tensor (*)(const Tensor& a, const Tensor& b);

void add_extreme(PythonFunctions& functions, const std::string& name, Whole whole, AlongDim along,
                 OfPair of_pair) {
  functions.push_back({"torch." + name + " Tensor." + name + " aten." + name + ".default",
                       PythonSignature("Tensor self"), [=](PythonCall& call) -> PythonValue {
                         return whole(call.tensor("self"));
                       }});
  functions.push_back({"torch." + name + " Tensor." + name + " aten." + name + ".dim",
                       PythonSignature("Tensor self, int dim, bool keepdim=False"),
                       [=](PythonCall& call) -> PythonValue {
                         ValuesAndIndices found =
                             along(call.tensor("self"), call.integer("dim"), call.flag("keepdim"));
                         return std::vector<Tensor>{found.values, found.indices};
                       }});
  if (!of_pair) return;
  functions.push_back({"torch." + name + " Tensor." + name + " aten." + name + ".other",
                       PythonSignature("Tensor self, Tensor other"),
                       [=](PythonCall& call) -> PythonValue {
                         return of_pair(call.tensor("self"), call.tensor("other"));
                       }});
}

// The one element of a tensor, as Python has it; of a distributed one that of the whole.
PythonValue item_of(Tensor x) {
  if (x.numel() != 1)
    raise(ErrorKind::runtime_error, "item",
          "a Tensor with {} elements cannot be converted to Scalar", x.numel());
  if (x.distribution()) x = DTensor::of(x).full_tensor();
  double value = scalar_value(x.detach());
  if (x.dtype() == DType::boolean) return value != 0;
  if (!is_floating_point(x.dtype())) return std::int64_t(value);
  return value;
}

Spread spread_of(const PythonCall& call) {
  return {.correction = call.has("correction") ? call.real("correction") : 1.0,
          .keepdim = call.flag("keepdim")};
}

using Spreading = Tensor (*)(const Tensor& x, const DimList& dims, const Spread& spread);

// var and std have a form with `unbiased` and one with `correction`.
void add_spread(PythonFunctions& functions, const std::string& name, Spreading function) {
  functions.push_back({"torch." + name + " Tensor." + name + " aten." + name + ".correction",
                       PythonSignature("Tensor self, int[]? dim=None, *, Scalar? correction=None, "
                                       "bool keepdim=False"),
                       [=](PythonCall& call) -> PythonValue {
                         return function(call.tensor("self"), call.dims("dim"), spread_of(call));
                       }});
  functions.push_back(
      {"torch." + name + " Tensor." + name + " aten." + name + ".dim",
       PythonSignature("Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False"),
       [=](PythonCall& call) -> PythonValue {
         Spread spread{.correction = call.flag("unbiased") ? 1.0 : 0.0,
                       .keepdim = call.flag("keepdim")};
         return function(call.tensor("self"), call.dims("dim"), spread);
       }});
  functions.push_back({"torch." + name + " Tensor." + name + " aten." + name + ".default",
                       PythonSignature("Tensor self, bool unbiased"),
                       [=](PythonCall& call) -> PythonValue {
                         Spread spread{.correction = call.flag("unbiased") ? 1.0 : 0.0};
                         return function(call.tensor("self"), {}, spread);
                       }});
}

PythonFunctions statistics_functions() {
  return {
      {everywhere("var_mean", "correction"),
       PythonSignature("Tensor self, int[]? dim=None, *, Scalar? correction=None, "
                       "bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         VarianceAndMean found = var_mean(call.tensor("self"), call.dims("dim"), spread_of(call));
         return std::vector<Tensor>{found.variance, found.mean};
       }},
      {everywhere("logsumexp"), PythonSignature("Tensor self, int[] dim, bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         return logsumexp(call.tensor("self"), call.dims("dim"), call.flag("keepdim"));
       }},
      {"torch.linalg.vector_norm aten.linalg_vector_norm.default",
       PythonSignature("Tensor self, Scalar ord=2, int[]? dim=None, bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         return vector_norm(call.tensor("self"), call.real("ord"), call.dims("dim"),
                            call.flag("keepdim"));
       }},
      {everywhere("norm"),
       PythonSignature("Tensor self, Scalar? p=2, int[]? dim=None, bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         return norm(call.tensor("self"), call.has("p") ? call.real("p") : 2.0, call.dims("dim"),
                     call.flag("keepdim"));
       }},
      {everywhere("dist"), PythonSignature("Tensor self, Tensor other, Scalar p=2"),
       [](PythonCall& call) -> PythonValue {
         return dist(call.tensor("self"), call.tensor("other"), call.real("p"));
       }},
      {everywhere("count_nonzero", "default dim_IntList"),
       PythonSignature("Tensor self, int[]? dim=None"),
       [](PythonCall& call) -> PythonValue {
         return count_nonzero(call.tensor("self"), call.dims("dim"));
       }},
      {everywhere("trace"), PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return trace(call.tensor("self")); }},
      {everywhere("equal"), PythonSignature("Tensor self, Tensor other"),
       [](PythonCall& call) -> PythonValue {
         return equal(call.tensor("self"), call.tensor("other"));
       }},
      {"Tensor.is_same_size aten.is_same_size.default",
       PythonSignature("Tensor self, Tensor other"),
       [](PythonCall& call) -> PythonValue {
         return call.tensor("self").shape() == call.tensor("other").shape();
       }},
      {"Tensor.item", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return item_of(call.tensor("self")); }},
  };
}

}  // namespace

PythonFunctions reduction_functions() {
  PythonFunctions functions = {
      summing(everywhere("sum", "default dim_IntList"), sum),
      summing(everywhere("mean", "default dim"), mean),
      {everywhere("prod", "default dim_int"),
       PythonSignature("Tensor self, int? dim=None, bool keepdim=False, *, dtype? dtype=None"),
       prod_call},
      {everywhere("nansum"), PythonSignature("Tensor self, int[]? dim=None, bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         // PyTorch takes it that no part of a partial sum is NaN.
         Attributes attributes = reduction_attributes(call.dims("dim"), call.flag("keepdim"));
         attributes.set(attribute::passes_partial = true);
         return call_one(*find_op("nansum"), {call.tensor("self")}, attributes);
       }},
      selecting(everywhere("any", "default dim dims"), any),
      selecting(everywhere("all", "default dim dims"), all),
      selecting(everywhere("amax"), amax),
      selecting(everywhere("amin"), amin),
      indexing(everywhere("argmax"), argmax),
      indexing(everywhere("argmin"), argmin),
  };
  add_extreme(functions, "max", max, max, maximum);
  add_extreme(functions, "min", min, min, minimum);
  add_spread(functions, "var", var);
  add_spread(functions, "std", std);
  for (PythonFunction& function : statistics_functions()) functions.push_back(std::move(function));
  return functions;
}

}  // namespace simmesh
