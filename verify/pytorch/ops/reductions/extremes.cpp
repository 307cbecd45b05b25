#include "core/ops/reductions/extremes.h"

#include "core/ops/elementwise/selection.h"
#include "verify/pytorch/ops/call_arguments.h"
#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

using Indexing = Tensor (*)(const Tensor& x, std::optional<std::int64_t> dim, bool keepdim);
PythonFunction indexing(std::string names, Indexing function) {
  return {std::move(names), PythonSignature("Tensor self, int? dim=None, bool keepdim=False"),
          [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("self"), call.integer_if("dim"), call.flag("keepdim"));
          }};
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

PythonFunctions extremes_functions() {
  PythonFunctions functions = {
      over_dims(everywhere("amax"), amax),
      over_dims(everywhere("amin"), amin),
      indexing(everywhere("argmax"), argmax),
      indexing(everywhere("argmin"), argmin),
  };
  functions.push_back(
      {everywhere("aminmax"), PythonSignature("Tensor self, *, int? dim=None, bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         SmallestAndLargest found =
             aminmax(call.tensor("self"), call.integer_if("dim"), call.flag("keepdim"));
         return std::vector<Tensor>{found.min, found.max};
       }});
  add_extreme(functions, "max", max, max, maximum);
  add_extreme(functions, "min", min, min, minimum);
  return functions;
}

const PythonFamily extremes_family(extremes_functions);

}  // namespace

}  // namespace simmesh
