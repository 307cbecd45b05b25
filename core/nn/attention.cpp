#include "core/nn/attention.h"

#include "core/check/error.h"
#include "core/nn/linear.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/neural/attention.h"
#include "core/ops/neural/rotary.h"
#include "core/ops/shapes/views.h"

namespace simmesh::nn {

Attention::Attention(const Options& options)
    : heads_(options.heads),
      kv_heads_(options.kv_heads.value_or(options.heads)),
      head_size_(options.heads > 0 ? options.width / options.heads : 0),
      rotary_theta_(options.rotary_theta),
      causal_(options.causal),
      flash_(options.flash) {
  if (options.heads <= 0 || options.width % options.heads != 0)
    raise(ErrorKind::value_error, "nn/attention", "expected heads that divide the width {}, got {}",
          options.width, options.heads);
  if (kv_heads_ <= 0 || heads_ % kv_heads_ != 0)
    raise(ErrorKind::value_error, "nn/attention",
          "expected kv_heads that divide the {} heads, got {}", heads_, kv_heads_);
  auto linear = [&](std::int64_t in, std::int64_t out) {
    return std::make_shared<Linear>(Linear::Options{in, out, options.bias, options.parameters});
  };
  std::int64_t kv_width = options.width / heads_ * kv_heads_;
  register_child("wq", linear(options.width, options.width));
  register_child("wk", linear(options.width, kv_width));
  register_child("wv", linear(options.width, kv_width));
  register_child("wo", linear(options.width, options.width));
}

// Takes as many heads as the layer has columns for: a rank of tensor parallelism has only some.
Tensor Attention::headed(const char* name, const Tensor& x) const {
  Tensor y = child(name)(x);
  Shape shape = {y.size(0), y.size(1), y.size(2) / head_size_, head_size_};
  return transpose(view(y, shape), 1, 2);
}

Tensor Attention::mixed(Tensor q, Tensor k, Tensor v) const {
  if (rotary_theta_) {
    q = rotary_embedding(q, *rotary_theta_);
    k = rotary_embedding(k, *rotary_theta_);
  }
  if (flash_) return flash_attention(q, k, v, {.is_causal = causal_});
  if (kv_heads_ != heads_) {
    k = repeat_interleave(k, heads_ / kv_heads_, 1);
    v = repeat_interleave(v, heads_ / kv_heads_, 1);
  }
  return scaled_dot_product_attention(q, k, v, {.is_causal = causal_});
}

Tensors Attention::forward(const Tensors& inputs) {
  const Tensor& x = inputs[0];
  Tensor q = headed("wq", x), k = headed("wk", x), v = headed("wv", x);
  Tensor mix = mix_ ? mix_(*this, q, k, v) : mixed(q, k, v);
  Shape joined = {mix.size(0), mix.size(2), mix.size(1) * head_size_};
  return {child("wo")(reshape(transpose(mix, 1, 2), joined))};
}

}  // namespace simmesh::nn
