#include "core/ops/matrices/products.h"

#include "core/ops/functions/einsum.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

using Product = Tensor (*)(const Tensor& a, const Tensor& b);

PythonFunction product(std::string names, const char* signature, Product function) {
  return {std::move(names), PythonSignature(signature), [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("self"), call.tensor("mat2"));
          }};
}

Scales scales_of_call(const PythonCall& call) {
  return {.beta = call.real("beta"), .alpha = call.real("alpha")};
}

PythonFunctions adding_functions() {
  return {
      {everywhere("addmm"),
       PythonSignature("Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1"),
       [](PythonCall& call) -> PythonValue {
         return addmm(call.tensor("self"), call.tensor("mat1"), call.tensor("mat2"),
                      scales_of_call(call));
       }},
      {everywhere("baddbmm"),
       PythonSignature(
           "Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1"),
       [](PythonCall& call) -> PythonValue {
         return baddbmm(call.tensor("self"), call.tensor("batch1"), call.tensor("batch2"),
                        scales_of_call(call));
       }},
      {everywhere("addmv"),
       PythonSignature("Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1"),
       [](PythonCall& call) -> PythonValue {
         return addmv(call.tensor("self"), call.tensor("mat"), call.tensor("vec"),
                      scales_of_call(call));
       }},
  };
}

PythonFunctions products_functions() {
  PythonFunctions functions = {
      product(everywhere("mm"), "Tensor self, Tensor mat2", mm),
      product(everywhere("bmm"), "Tensor self, Tensor mat2", bmm),
      {everywhere("matmul"), PythonSignature("Tensor self, Tensor other"),
       [](PythonCall& call) -> PythonValue {
         return matmul(call.tensor("self"), call.tensor("other"));
       }},
      {everywhere("mv"), PythonSignature("Tensor self, Tensor vec"),
       [](PythonCall& call) -> PythonValue { return mv(call.tensor("self"), call.tensor("vec")); }},
      {everywhere("dot"), PythonSignature("Tensor self, Tensor tensor"),
       [](PythonCall& call) -> PythonValue {
         return dot(call.tensor("self"), call.tensor("tensor"));
       }},
      {everywhere("outer"), PythonSignature("Tensor self, Tensor vec2"),
       [](PythonCall& call) -> PythonValue {
         return outer(call.tensor("self"), call.tensor("vec2"));
       }},
      {"torch.einsum", PythonSignature("str equation, Tensor a, Tensor? b=None"),
       [](PythonCall& call) -> PythonValue {
         if (!call.has("b")) return einsum(call.text("equation"), {call.tensor("a")});
         return einsum(call.text("equation"), {call.tensor("a"), call.tensor("b")});
       }},
      {"torch.einsum", PythonSignature("str equation, Tensor[] operands"),
       [](PythonCall& call) -> PythonValue {
         return einsum(call.text("equation"), call.tensors("operands"));
       }},
      {"torch.nn.functional.linear aten.linear.default",
       PythonSignature("Tensor self, Tensor weight, Tensor? bias=None"),
       [](PythonCall& call) -> PythonValue {
         return linear(call.tensor("self"), call.tensor("weight"), call.tensor("bias"));
       }},
  };
  for (PythonFunction& function : adding_functions()) functions.push_back(std::move(function));
  return functions;
}

const PythonFamily products_family(products_functions);

}  // namespace

}  // namespace simmesh
