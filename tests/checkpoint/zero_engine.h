#pragma once

#include <memory>
#include <vector>

#include "collectives/process_group.h"
#include "core/nn/module.h"
#include "core/optim/adam.h"
#include "zero/engine/engine.h"

namespace simmesh::checkpoint::testing {

// adamw_engine returns a ZeRO engine for a model in float32 or bfloat16, with AdamW at the rate
// 0.1.
inline zero::Engine adamw_engine(nn::Module& model, int stage, bool is_bf16) {
  zero::Config config;
  config.bf16.enabled = is_bf16;
  config.zero_optimization.stage = stage;
  config.zero_allow_untested_optimizer = true;
  auto make = [](const std::vector<nn::NamedTensor>& masters) {
    std::vector<Tensor> tensors;
    for (const auto& [name, tensor] : masters) tensors.push_back(tensor);
    return std::make_unique<optim::AdamW>(tensors, optim::AdamOptions{.lr = 0.1});
  };
  return zero::initialize(model, make, config, ProcessGroup::world());
}

}  // namespace simmesh::checkpoint::testing
