#pragma once

#include "core/nn/init.h"
#include "core/nn/module.h"

namespace simmesh::nn {

// LayerNorm normalises the last dim, of that width: (x - mean) / sqrt(var + eps) * weight + bias,
// with the biased variance.
class LayerNorm final : public Module {
 public:
  // Options are the width and what keeps the divisor from zero.
  struct Options {
    std::int64_t width;
    double eps = 1e-5;
    ParameterOptions parameters = {};
  };

  explicit LayerNorm(const Options& options);
  Tensors forward(const Tensors& inputs) override;

 private:
  double eps_;
};

// RMSNorm scales the last dim, of that width: x / sqrt(mean(x^2) + eps) * weight.
class RMSNorm final : public Module {
 public:
  // Options are the width and what keeps the divisor from zero.
  struct Options {
    std::int64_t width;
    double eps = 1e-6;
    ParameterOptions parameters = {};
  };

  explicit RMSNorm(const Options& options);
  Tensors forward(const Tensors& inputs) override;

 private:
  double eps_;
};

}  // namespace simmesh::nn
