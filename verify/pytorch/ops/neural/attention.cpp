#include "core/ops/neural/attention.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

Attention attention_of(const PythonCall& call) {
  Attention options;
  options.mask = call.tensor("attn_mask");
  options.is_causal = call.flag("is_causal");
  if (call.has("scale")) options.scale = call.real("scale");
  return options;
}

PythonFunctions attention_functions() {
  return {
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
}

const PythonFamily attention_family(attention_functions);

}  // namespace

}  // namespace simmesh
