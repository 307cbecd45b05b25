#include "core/ops/reductions/statistics.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

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
  PythonFunctions functions = {
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
  };
  add_spread(functions, "var", var);
  add_spread(functions, "std", std);
  return functions;
}

const PythonFamily statistics_family(statistics_functions);

}  // namespace

}  // namespace simmesh
