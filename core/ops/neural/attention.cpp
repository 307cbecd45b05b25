#include "core/ops/neural/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/matrices/products.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/op_list.h"
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

// PyTorch runs attention on a CPU as one op where it can. Distributed operands show that: they are
// brought to the rows of that op. Its gradient is that of the single products here, so a call that
// is differentiated is made of these.
bool is_one_op(const Tensor& q, const Tensor& k, const Tensor& v, const Attention& options) {
  bool is_plain = !q.distribution() && !k.distribution() && !v.distribution();
  bool is_recorded =
      compute_mode().grad_enabled && (q.requires_grad() || k.requires_grad() || v.requires_grad());
  if (is_plain || is_recorded || options.is_causal || options.mask.is_defined() ||
      options.dropout > 0)
    return false;
  const Shape &queries = q.shape(), &keys = k.shape(), &values = v.shape();
  std::size_t dims = queries.size();
  if ((dims != 3 && dims != 4) || keys != values || keys.size() != dims) return false;
  bool has_same_heads = std::equal(queries.begin(), queries.end() - 2, keys.begin());
  return has_same_heads && queries.back() == keys.back() && q.numel() > 0 && k.numel() > 0;
}

}  // namespace

Tensor attention_weights(const Tensor& q, const Tensor& k, const Attention& options) {
  return weights_of(matmul(q, transpose(k, -2, -1)) * scale_of(q, options), options);
}

Tensor math_attention_scores(const Tensor& q, const Tensor& k, const Attention& options) {
  double scale = scale_of(q, options), root = std::sqrt(std::abs(scale));
  return matmul(q * (scale < 0 ? -root : root), transpose(k, -2, -1) * root);
}

Tensor math_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Attention& options) {
  check_operands(q, k, v, options);
  return weighted(weights_of(math_attention_scores(q, k, options), options), v, options);
}

namespace {

using HeadInputs = gsl::span<const Tensor>;

TensorTypes flash_attention_type(gsl::span<const TensorType> inputs, const Attributes&) {
  const Shape &q = inputs[0].shape, &k = inputs[1].shape, &v = inputs[2].shape;
  bool fits = q.size() == 4 && k.size() == 4 && v.size() == 4;
  fits = fits && q[0] == k[0] && k[0] == v[0] && k[1] == v[1] && k[2] == v[2] && q[3] == k[3];
  fits = fits && (k[1] > 0 ? q[1] % k[1] == 0 : q[1] == 0);
  if (!fits)
    raise(ErrorKind::runtime_error, "flash_attention",
          "expected q [B, H, L, E], k [B, K, S, E] and v [B, K, S, F] where K divides H, got {}, "
          "{} and {}",
          to_string(DimSpan(q)), to_string(DimSpan(k)), to_string(DimSpan(v)));
  return {{{q[0], q[1], q[2], v[3]}, inputs[0].dtype}};
}

// Repeats each key or value head for the query heads that share it.
Tensor repeated_heads(const Tensor& x, std::int64_t heads) {
  return x.size(1) == heads ? x : repeat_interleave(x, heads / x.size(1), 1);
}

// Returns the sum over the query heads that share a head.
Tensor summed_heads(const Tensor& gradient, std::int64_t heads) {
  if (gradient.size(1) == heads) return gradient;
  return sum(unflatten(gradient, 1, {heads, gradient.size(1) / heads}), 2);
}

Attention plain_options(const Attributes& attributes) {
  return {.is_causal = attributes.get(attribute::is_causal),
          .scale = attributes.get(attribute::scale)};
}

void attend(HeadInputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
  NoGrad mode;
  std::int64_t heads = inputs[0].size(1);
  copy_(outputs[0],
        scaled_dot_product_attention(inputs[0], repeated_heads(inputs[1], heads),
                                     repeated_heads(inputs[2], heads), plain_options(attributes)));
}

// Computes the gradients of softmax(q k^T * scale) v; its weights are computed again.
void attend_backward(HeadInputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
  NoGrad mode;
  const Tensor &q = inputs[0], &g = inputs[3];
  std::int64_t heads = q.size(1);
  Tensor k = repeated_heads(inputs[1], heads), v = repeated_heads(inputs[2], heads);
  Attention options = plain_options(attributes);
  Tensor weights = attention_weights(q, k, options);
  Tensor weighted = matmul(g, transpose(v, -2, -1)) * weights;
  Tensor scores = (weighted - weights * sum(weighted, -1, true)) * *options.scale;
  copy_(outputs[0], matmul(scores, k));
  copy_(outputs[1], summed_heads(matmul(transpose(scores, -2, -1), q), inputs[1].size(1)));
  copy_(outputs[2], summed_heads(matmul(transpose(weights, -2, -1), g), inputs[2].size(1)));
}

const Op flash_attention_backward_op = {
    .name = "flash_attention_backward",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
      return {inputs[0], inputs[1], inputs[2]};
    },
    .kernel = attend_backward,
};

const Op flash_attention_op = {
    .name = "flash_attention",
    .shape = flash_attention_type,
    .kernel = attend,
};

// Computes scaled_dot_product_attention of pieces.
const Op attention_op = {
    .name = "scaled_dot_product_attention",
    .shape = flash_attention_type,
    .kernel = attend,
};

Attributes attention_attributes(const Tensor& q, const FlashAttentionOptions& options) {
  double width = q.dim() == 0 ? 1.0 : double(q.shape().back());
  return {attribute::is_causal = options.is_causal,
          attribute::scale = options.scale.value_or(1 / std::sqrt(width))};
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Attention& options) {
  check_operands(q, k, v, options);
  if (q.dim() == 3 && is_one_op(q, k, v, options))
    return squeeze(
        scaled_dot_product_attention(unsqueeze(q, 0), unsqueeze(k, 0), unsqueeze(v, 0), options),
        0);
  if (is_one_op(q, k, v, options))
    return call_one(attention_op, {q, k, v},
                    {attribute::is_causal = false, attribute::scale = scale_of(q, options)});
  return weighted(attention_weights(q, k, options), v, options);
}

Tensor flash_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                       const FlashAttentionOptions& options) {
  return call_one(flash_attention_op, {q, k, v}, attention_attributes(q, options));
}

AttentionGradients flash_attention_backward(const Tensor& q, const Tensor& k, const Tensor& v,
                                            const Tensor& gradient,
                                            const FlashAttentionOptions& options) {
  std::vector<Tensor> gradients =
      call(flash_attention_backward_op, {q, k, v, gradient}, attention_attributes(q, options));
  return {gradients[0], gradients[1], gradients[2]};
}

void attention_ops(OpList& ops) {
  ops.add({&attention_op, &flash_attention_op, &flash_attention_backward_op});
}

}  // namespace simmesh
