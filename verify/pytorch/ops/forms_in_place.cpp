#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/elementwise/interpolation.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/matrices/products.h"
#include "core/ops/registry/registry.h"
#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

// Forms in place of ops whose operands and arguments are those of the op itself.

// Returns f_(self, other), where other is a tensor or a number.
PythonFunction with_other_in_place(const std::string& name) {
  return {everywhere(name + "_", "Tensor Scalar"),
          PythonSignature("Tensor self, Tensor|Scalar other"),
          [=](PythonCall& call) -> PythonValue {
            Tensor& self = call.target();
            const Op& op = *find_op(name);
            if (call.is_tensor("other"))
              return call_in_place(op, self, {self, call.tensor("other")});
            return call_in_place(op, self, {self}, with_other(call.number("other")));
          }};
}

PythonFunction logical_in_place(const std::string& name) {
  return {everywhere(name + "_"), PythonSignature("Tensor self, Tensor other"),
          [=](PythonCall& call) -> PythonValue {
            Tensor& self = call.target();
            return call_in_place(*find_op(name), self, {self, call.tensor("other")});
          }};
}

PythonFunction triangle_in_place(const std::string& name) {
  return {everywhere(name + "_"), PythonSignature("Tensor self, int diagonal=0"),
          [=](PythonCall& call) -> PythonValue {
            Tensor& self = call.target();
            return call_in_place(*find_op(name), self, {self},
                                 {attribute::diagonal = call.integer("diagonal")});
          }};
}

PythonValue pow_in_place(PythonCall& call) {
  Tensor& self = call.target();
  if (call.is_tensor("exponent"))
    return call_in_place(*find_op("pow.Tensor_Tensor"), self, {self, call.tensor("exponent")});
  return call_in_place(*find_op("pow"), self, {self},
                       {attribute::exponent = call.number("exponent")});
}

PythonValue lerp_in_place(PythonCall& call) {
  Tensor& self = call.target();
  const Op& op = *find_op("lerp");
  if (call.is_tensor("weight"))
    return call_in_place(op, self, {self, call.tensor("end"), call.tensor("weight")});
  return call_in_place(op, self, {self, call.tensor("end")},
                       {attribute::weight = call.number("weight")});
}

PythonFunctions forms_in_place() {
  return {
      with_other_in_place("fmod"),
      with_other_in_place("remainder"),
      logical_in_place("logical_and"),
      logical_in_place("logical_or"),
      logical_in_place("logical_xor"),
      {everywhere("clamp_min_"), PythonSignature("Tensor self, Scalar min"),
       [](PythonCall& call) -> PythonValue { return clamp_(call.target(), call.number("min")); }},
      {everywhere("clamp_max_"), PythonSignature("Tensor self, Scalar max"),
       [](PythonCall& call) -> PythonValue {
         return clamp_(call.target(), {}, call.number("max"));
       }},
      triangle_in_place("tril"),
      triangle_in_place("triu"),
      {everywhere("pow_", "Scalar Tensor"), PythonSignature("Tensor self, Tensor|Scalar exponent"),
       pow_in_place},
      {everywhere("lerp_", "Scalar Tensor"),
       PythonSignature("Tensor self, Tensor end, Tensor|Scalar weight"), lerp_in_place},
      {everywhere("scatter_add_"),
       PythonSignature("Tensor self, int dim, Tensor index, Tensor src"),
       [](PythonCall& call) -> PythonValue {
         Tensor& self = call.target();
         std::int64_t dim = wrapped_dim(call.integer("dim"), self.shape().size());
         return call_in_place(*find_op("scatter_add"), self,
                              {self, call.tensor("index"), call.tensor("src")},
                              {attribute::dim = dim});
       }},
      {everywhere("addmm_"),
       PythonSignature("Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1"),
       [](PythonCall& call) -> PythonValue {
         Tensor& self = call.target();
         return call_in_place(
             *find_op("addmm"), self, {self, call.tensor("mat1"), call.tensor("mat2")},
             {attribute::beta = call.real("beta"), attribute::alpha = call.real("alpha")});
       }},
  };
}

const PythonFamily family_of_forms_in_place(forms_in_place);

}  // namespace

}  // namespace simmesh
