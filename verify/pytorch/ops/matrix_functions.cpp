#include "core/ops/matrices/compositions.h"
#include "core/ops/matrices/products.h"
#include "core/ops/neural/attention.h"
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

Attention attention_of(const PythonCall& call) {
  Attention options;
  options.mask = call.tensor("attn_mask");
  options.is_causal = call.flag("is_causal");
  if (call.has("scale")) options.scale = call.real("scale");
  return options;
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

}  // namespace

PythonFunctions matrix_functions() {
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
      {everywhere("kron"), PythonSignature("Tensor self, Tensor other"),
       [](PythonCall& call) -> PythonValue {
         return kron(call.tensor("self"), call.tensor("other"));
       }},
      {everywhere("cross"), PythonSignature("Tensor self, Tensor other, int? dim=None"),
       [](PythonCall& call) -> PythonValue {
         return cross(call.tensor("self"), call.tensor("other"), call.integer_if("dim"));
       }},
      {everywhere("cdist"), PythonSignature("Tensor x1, Tensor x2, float p=2"),
       [](PythonCall& call) -> PythonValue {
         return cdist(call.tensor("x1"), call.tensor("x2"), call.real("p"));
       }},
      {everywhere("renorm"), PythonSignature("Tensor self, Scalar p, int dim, Scalar maxnorm"),
       [](PythonCall& call) -> PythonValue {
         return renorm(
             call.tensor("self"),
             {.p = call.real("p"), .dim = call.integer("dim"), .max_norm = call.real("maxnorm")});
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
      {"recorder.sdpa_math", PythonSignature("Tensor q, Tensor k, Tensor v, bool is_causal=False"),
       [](PythonCall& call) -> PythonValue {
         Attention options;
         options.is_causal = call.flag("is_causal");
         return math_attention(call.tensor("q"), call.tensor("k"), call.tensor("v"), options);
       }},
      {"torch.nn.functional.scaled_dot_product_attention",
       PythonSignature("Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
                       "float dropout_p=0, bool is_causal=False, *, float? scale=None, "
                       "bool enable_gqa=False"),
       [](PythonCall& call) -> PythonValue {
         return scaled_dot_product_attention(call.tensor("query"), call.tensor("key"),
                                             call.tensor("value"), attention_of(call));
       }},
  };
  for (PythonFunction& function : adding_functions()) functions.push_back(std::move(function));
  return functions;
}

}  // namespace simmesh
