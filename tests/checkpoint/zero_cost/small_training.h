#pragma once

#include <functional>
#include <memory>

#include "checkpoint/catalog/training_state.h"
#include "collectives/process_group.h"
#include "core/autograd/backward.h"
#include "core/nn/mlp.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/optim/adam.h"
#include "core/tensor/formula.h"
#include "ddp/replicate.h"
#include "fsdp/fully_shard.h"
#include "zero/engine/engine.h"

namespace simmesh::checkpoint::testing {

// The form of parallelism of a small training run.
enum class SmallForm : std::uint8_t { alone, replicated, sharded, zero1, zero3 };

// SmallTraining trains a perceptron on this rank.
class SmallTraining {
 public:
  SmallTraining(SmallForm form, std::int64_t micro_batches)
      : model_(nn::make_mlp({.width = 3, .hidden = 5, .out = 2})), micro_batches_(micro_batches) {
    std::uint64_t seed = 0;
    for (auto& [name, parameter] : model_->named_parameters()) {
      Tensor data = parameter.detach();
      copy_(data, formula(data.shape(), {.rule = Rule::unit, .seed = ++seed}));
    }
    if (form == SmallForm::replicated) replicate(*model_, ProcessGroup::world());
    if (form == SmallForm::sharded) fsdp::fully_shard(*model_);
    if (form == SmallForm::zero1 || form == SmallForm::zero3)
      make_engine(form == SmallForm::zero1 ? 1 : 3);
    else
      optimizer_ =
          std::make_unique<optim::AdamW>(model_->parameters(), optim::AdamOptions{.lr = 0.125});
  }

  nn::Module& model() { return *model_; }

  // Trains one step, and calls `before_step` right before the optimiser's step.
  void step(std::int64_t number, const std::function<void()>& before_step) {
    for (std::int64_t micro = 0; micro < micro_batches_; ++micro) {
      Tensor input =
          formula({2, 3}, {.rule = Rule::unit, .seed = std::uint64_t(10 * number + micro)});
      Tensor loss = sum(engine_ ? (*engine_)(input) : (*model_)(input));
      engine_ ? engine_->backward(loss) : backward(loss);
      if (micro + 1 == micro_batches_) before_step();
      if (engine_) engine_->step();
    }
    if (!optimizer_) return;
    optimizer_->step();
    optimizer_->zero_grad();
  }

  StateDict state() { return engine_ ? state_dict(*engine_) : state_dict(*model_, *optimizer_); }
  void loaded() {
    if (engine_) engine_->masters_changed();
  }

 private:
  void make_engine(int stage) {
    zero::Config config;
    config.zero_optimization.stage = stage;
    config.gradient_accumulation_steps = micro_batches_;
    config.zero_allow_untested_optimizer = true;
    auto make = [](const std::vector<nn::NamedTensor>& masters) {
      std::vector<Tensor> tensors;
      for (const auto& [name, tensor] : masters) tensors.push_back(tensor);
      return std::make_unique<optim::AdamW>(tensors, optim::AdamOptions{.lr = 0.125});
    };
    engine_.emplace(zero::initialize(*model_, make, config, ProcessGroup::world()));
  }

  nn::ModulePtr model_;
  std::int64_t micro_batches_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<zero::Engine> engine_;
};

}  // namespace simmesh::checkpoint::testing
