#pragma once

#include <simmesh/core/nn/init.h>
#include <simmesh/core/nn/module.h>

namespace simmesh::nn {

// Attention is multi-head self-attention of x [batch, T, width]: children wq, wk, wv, wo, linear
// layers width -> width, called in this order. Head h has the columns from h * width / heads on;
// softmax(q k^T / sqrt(width / heads)) v. causal: a position sees no later ones.
class Attention final : public Module {
 public:
  struct Options {
    std::int64_t width;
    std::int64_t heads;
    bool causal = false;
    bool bias = false;
    ParameterOptions parameters = {};
  };

  // Raises a ValueError where the heads don't divide the width.
  explicit Attention(const Options& options);
  Tensors forward(const Tensors& inputs) override;

 private:
  std::int64_t heads_;
  bool causal_;
};

}  // namespace simmesh::nn
