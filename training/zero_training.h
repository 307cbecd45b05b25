#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/optim/loss_scaler.h"
#include "training/training.h"

namespace simmesh {

// ZeroTask is a training run as DeepSpeed makes it: each rank draws its own data, parameters of 16
// bits have float32 masters, and gradients are averaged over the ranks. Fields are those of
// tests/cases/zero/README.md, kind zero_train.
struct ZeroTask {
  struct Group {
    std::string match;
    double lr = 0.0;
    double weight_decay = 0.0;
  };

  TrainingModel model;
  std::int64_t batch = 1;
  std::int64_t accumulation = 1;
  std::int64_t steps = 1;
  LossKind loss = LossKind::dot;
  Formula data;
  bool has_indices = false;  // the input is int64 [batch], below data.below
  std::int64_t inputs = 1;   // width of the input, where it has one
  std::int64_t outputs = 1;  // width of the last layer
  std::vector<double> input_factor;
  std::optional<std::int64_t> poison_step;
  OptimizerSpec optimizer;
  std::vector<Group> groups;
  double clip = 0.0;
  std::optional<optim::LossScaler::Options> scaler;  // of float16
};

// ZeroStep is what one step of a run gives on one rank.
struct ZeroStep {
  std::vector<double> losses;  // one a micro-batch, of this rank
  std::optional<double> norm;  // of the averaged gradients before clipping
  bool is_skipped = false;
  double scale_before = 1.0, scale_after = 1.0;
  std::vector<Tensor> parameters;  // in the order of the task, after the step
};

// ZeroResult is what a run gives on one rank; masters are float32, and empty for float32 models.
struct ZeroResult {
  std::vector<ZeroStep> steps;
  std::vector<nn::NamedTensor> parameters;
  std::vector<nn::NamedTensor> masters;
};

// train_zero runs a task on this rank with zero::Engine; all ranks of the world call it.
ZeroResult train_zero(const ZeroTask& task);

}  // namespace simmesh
