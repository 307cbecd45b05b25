#pragma once

#include "core/nn/activation.h"
#include "core/nn/init.h"
#include "core/nn/module.h"

namespace simmesh::nn {

// GatedMlp computes w2(act(w1(x)) * w3(x)): with silu the SwiGLU of Llama. Children w1 and w3,
// linear layers width -> hidden, and w2, hidden -> width, none with a bias.
class GatedMlp final : public Module {
 public:
  // Options are the sizes and the activation.
  struct Options {
    std::int64_t width;
    std::int64_t hidden;
    ActivationKind activation = ActivationKind::silu;
    ParameterOptions parameters = {};
  };

  explicit GatedMlp(const Options& options);
  Tensors forward(const Tensors& inputs) override;
};

}  // namespace simmesh::nn
