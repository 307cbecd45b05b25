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
// [..., S, E] and v [..., S, F], in plain products and a softmax.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Attention& options = {});

// math_attention is scaled_dot_product_attention as PyTorch's math kernel computes it: q and k are
// multiplied by the root of the scale each, so that their product is the scores. Its rounding
// differs, and so may the placements of distributed tensors in between.
Tensor math_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                      const Attention& options = {});

// attention_weights returns the softmax alone, before dropout.
Tensor attention_weights(const Tensor& q, const Tensor& k, const Attention& options = {});

}  // namespace simmesh
