#pragma once

#include <functional>
#include <optional>

#include "core/nn/init.h"
#include "core/nn/module.h"

namespace simmesh::nn {

// Attention is multi-head self-attention of x [batch, T, width]: children wq, wk, wv, wo, linear
// layers width -> width, called in this order. Head h has the columns from h * width / heads on;
// softmax(q k^T / sqrt(width / heads)) v. causal: a position sees no later ones.
//
// With fewer kv_heads than heads, wk and wv are that much narrower, and neighbouring heads share
// keys and values. rotary_theta turns queries and keys by their position
// (core/ops/neural/rotary.h). flash computes in one op, which keeps no scores for backward
// (core/ops/neural/attention.h).
class Attention final : public Module {
 public:
  // Options are the sizes, and which of the variants above it is.
  struct Options {
    std::int64_t width;
    std::int64_t heads;
    bool causal = false;
    bool bias = false;
    ParameterOptions parameters = {};
    std::optional<std::int64_t> kv_heads = {};  // as many as heads where not given
    std::optional<double> rotary_theta = {};
    bool flash = false;
  };

  // Raises a ValueError where the heads don't divide the width, or the kv_heads the heads.
  explicit Attention(const Options& options);
  Tensors forward(const Tensors& inputs) override;

  // Mix computes the input of wo, [B, H, T, E], from queries [B, H, T, E] and keys and values [B,
  // K, T, E], which aren't rotated yet.
  using Mix = std::function<Tensor(const Attention& self, const Tensor& q, const Tensor& k,
                                   const Tensor& v)>;
  // set_mix replaces the step between the linear layers, for instance where x is a part of a
  // sequence.
  void set_mix(Mix mix) { mix_ = std::move(mix); }
  bool is_causal() const { return causal_; }
  const std::optional<double>& rotary_theta() const { return rotary_theta_; }

 private:
  Tensor mixed(Tensor q, Tensor k, Tensor v) const;
  Tensor headed(const char* name, const Tensor& x) const;

  std::int64_t heads_, kv_heads_, head_size_;
  std::optional<double> rotary_theta_;
  bool causal_, flash_;
  Mix mix_;
};

}  // namespace simmesh::nn
