#include "core/nn/gated_mlp.h"

#include "core/nn/linear.h"
#include "core/ops/elementwise/pointwise.h"

namespace simmesh::nn {

GatedMlp::GatedMlp(const Options& options) {
  auto linear = [&](std::int64_t in, std::int64_t out) {
    return std::make_shared<Linear>(Linear::Options{in, out, false, options.parameters});
  };
  register_child("w1", linear(options.width, options.hidden));
  register_child("act", std::make_shared<Activation>(options.activation));
  register_child("w2", linear(options.hidden, options.width));
  register_child("w3", linear(options.width, options.hidden));
}

Tensors GatedMlp::forward(const Tensors& inputs) {
  Tensor gate = child("act")(child("w1")(inputs[0]));
  return {child("w2")(mul(gate, child("w3")(inputs[0])))};
}

}  // namespace simmesh::nn
