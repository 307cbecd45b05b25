#pragma once

#include "core/nn/activation.h"
#include "core/nn/init.h"
#include "core/nn/module.h"

namespace simmesh::nn {

// MlpOptions are the sizes of a two-layer perceptron.
struct MlpOptions {
  std::int64_t width;
  std::int64_t hidden;
  std::int64_t out;
  ActivationKind activation = ActivationKind::gelu;
  bool bias = true;
  ParameterOptions parameters = {};
};

// make_mlp returns fc1, act, fc2: linear width -> hidden, the activation, linear hidden -> out.
ModulePtr make_mlp(const MlpOptions& options);

}  // namespace simmesh::nn
