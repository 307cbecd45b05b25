#pragma once

#include <optional>

#include "core/ops/op.h"

namespace simmesh {

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

// flash_attention_ops returns the ops of this file.
gsl::span<const Op* const> flash_attention_ops();

}  // namespace simmesh
