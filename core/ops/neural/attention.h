#pragma once

#include <optional>

#include "core/ops/op.h"
#include "core/ops/random/random.h"

namespace simmesh {

// Attention are the options of scaled_dot_product_attention.
struct Attention {
  Tensor mask = {};             // [..., L, S]: bool (true takes part) or added to the scores
  bool is_causal = false;       // position i sees positions up to i; excludes a mask
  std::optional<double> scale;  // 1 / sqrt(E) where not given
  double dropout = 0.0;         // probability
  Generator generator = {};     // of dropout
};

// scaled_dot_product_attention returns softmax(q k^T * scale + mask) v of q [..., L, E], k
// [..., S, E] and v [..., S, F], in plain products and a softmax. Raises a RuntimeError for a mask
// beside is_causal, and for shapes that don't fit.
//
// For distributed tensors of 3 or 4 dims it is one op, as PyTorch's on a CPU, if nothing is
// differentiated and there is no mask and no dropout: then only its inputs are redistributed.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Attention& options = {});

// math_attention is scaled_dot_product_attention as PyTorch's math kernel computes it: q and k are
// multiplied by the root of the scale each, so that their product is the scores. Its rounding
// differs, and so may the placements of distributed tensors in between.
Tensor math_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                      const Attention& options = {});

// math_attention_scores returns the product with which math_attention begins.
Tensor math_attention_scores(const Tensor& q, const Tensor& k, const Attention& options = {});

// attention_weights returns the softmax alone, before dropout.
Tensor attention_weights(const Tensor& q, const Tensor& k, const Attention& options = {});

// FlashAttentionOptions are the options of flash_attention.
struct FlashAttentionOptions {
  bool is_causal = false;       // position i sees positions up to i
  std::optional<double> scale;  // 1 / sqrt(E) where not given
};

// flash_attention is scaled_dot_product_attention as one op, for q [B, H, L, E], k [B, K, S, E] and
// v [B, K, S, F], where K divides H: heads h * H / K on share the key and value head h. Values and
// gradients have the same bits; no score is kept for backward, only inputs and output, so that a
// rank is charged what it would be for a fused kernel. Raises a RuntimeError for other shapes.
Tensor flash_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                       const FlashAttentionOptions& options = {});

// AttentionGradients are the gradients of q, k and v.
struct AttentionGradients {
  Tensor q;
  Tensor k;
  Tensor v;
};
// flash_attention_backward returns them, given that of the output, as one op that computes the
// scores again.
AttentionGradients flash_attention_backward(const Tensor& q, const Tensor& k, const Tensor& v,
                                            const Tensor& gradient,
                                            const FlashAttentionOptions& options = {});

// The argument of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<bool> is_causal{"is_causal"};
}  // namespace attribute

}  // namespace simmesh
