#include "core/ops/neural/attention.h"

#include "core/check/error.h"
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

// PyTorch multiplies q and k, and then stops at the causal mask, which is a plain tensor. A layout
// that can't be kept behind the mask is refused in its words.
Tensor causal_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  Attention causal;
  causal.is_causal = true;
  try {
    return math_attention(q, k, v, causal);
  } catch (const Error& error) {
    if (!q.distribution() && !k.distribution()) throw;
    math_attention_scores(q, k, causal);
    raise(
        ErrorKind::runtime_error, "attention",
        "Operator add_ got mixed torch.Tensor and DTensor: the causal mask is a plain tensor, and "
        "attention that goes on fails: {}",
        error.what());
  }
}

PythonFunctions attention_functions() {
  return {
      {"recorder.sdpa_math", PythonSignature("Tensor q, Tensor k, Tensor v, bool is_causal=False"),
       [](PythonCall& call) -> PythonValue {
         Tensor q = call.tensor("q"), k = call.tensor("k"), v = call.tensor("v");
         return call.flag("is_causal") ? causal_attention(q, k, v) : math_attention(q, k, v);
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
