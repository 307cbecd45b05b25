#include "core/ops/neural/attention.h"

#include <cmath>
#include <limits>

#include "core/check/error.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/matrices/products.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

constexpr double masked_out = std::numeric_limits<double>::infinity();

// Returns the softmax of the scores where the mask is true; rows without any are zero, and so is
// their gradient.
Tensor masked_softmax(const Tensor& scores, const Tensor& mask) {
  Tensor row_is_hidden = logical_not(any(mask, -1, true));
  Tensor hidden = logical_not(logical_or(mask, row_is_hidden));
  Tensor weights = softmax(masked_fill(scores, hidden, -masked_out), -1);
  return masked_fill(weights, row_is_hidden, 0);
}

Tensor weights_of(const Tensor& scores, const Attention& options) {
  if (options.is_causal) {
    // Each row sees its own position, so no row is hidden.
    Tensor seen = tril(ones_like(scores.detach(), DType::boolean));
    return softmax(masked_fill(scores, logical_not(seen), -masked_out), -1);
  }
  if (!options.mask.is_defined()) return softmax(scores, -1);
  if (options.mask.dtype() == DType::boolean) return masked_softmax(scores, options.mask);
  return softmax(scores + options.mask, -1);
}

double scale_of(const Tensor& q, const Attention& options) {
  return options.scale.value_or(1 / std::sqrt(double(q.shape().back())));
}

void check_operands(const Tensor& q, const Tensor& k, const Tensor& v, const Attention& options) {
  if (options.is_causal && options.mask.is_defined())
    raise(ErrorKind::runtime_error, "scaled_dot_product_attention",
          "Explicit attn_mask should not be set when is_causal=True");
  if (q.dim() < 2 || k.dim() < 2 || v.dim() < 2)
    raise(ErrorKind::runtime_error, "scaled_dot_product_attention",
          "Expected query, key, and value to all be at least 2 dimensional, but got {}, {} and {} "
          "dimensions",
          q.dim(), k.dim(), v.dim());
}

Tensor weighted(Tensor weights, const Tensor& v, const Attention& options) {
  if (options.dropout > 0) weights = dropout(weights, options.generator, {.p = options.dropout});
  return matmul(weights, v);
}

}  // namespace

Tensor attention_weights(const Tensor& q, const Tensor& k, const Attention& options) {
  return weights_of(matmul(q, transpose(k, -2, -1)) * scale_of(q, options), options);
}

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Attention& options) {
  check_operands(q, k, v, options);
  return weighted(attention_weights(q, k, options), v, options);
}

Tensor math_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Attention& options) {
  check_operands(q, k, v, options);
  double scale = scale_of(q, options), root = std::sqrt(std::abs(scale));
  Tensor scores = matmul(q * (scale < 0 ? -root : root), transpose(k, -2, -1) * root);
  return weighted(weights_of(scores, options), v, options);
}

}  // namespace simmesh
