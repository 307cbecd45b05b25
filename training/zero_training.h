#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "training/training.h"
#include "zero/config/config.h"

namespace simmesh {

// ZeroTask is a training run as DeepSpeed does it: each rank has its own data, 16-bit parameters
// have float32 masters, and gradients are averaged over the ranks. The fields are those of the kind
// zero_train in tests/cases/zero/README.md.
struct ZeroTask {
  struct Group {
    std::string match;
    double lr = 0.0;
    double weight_decay = 0.0;
  };

  TrainingModel model;
  std::int64_t batch = 1;
  std::int64_t steps = 1;
  LossKind loss = LossKind::dot;
  Formula data;
  bool has_indices = false;  // the input is int64 [batch], below data.below
  std::int64_t inputs = 1;   // width of the input, if it has one
  std::int64_t outputs = 1;  // width of the last layer
  std::vector<double> input_factor;
  std::optional<std::int64_t> poison_step;
  OptimizerSpec optimizer;
  std::vector<Group> groups;
  zero::Config config;
};

// ZeroStep is the result of one step on one rank.
struct ZeroStep {
  std::vector<double> losses;  // one per micro-batch of this rank
  std::optional<double> norm;  // of the averaged gradients before clipping
  bool is_skipped = false;
  double scale_before = 1.0, scale_after = 1.0;
  std::vector<Tensor> parameters;  // in the order of the task, after the step
};

// ZeroResult is the result of a run on one rank. masters are float32, and empty for float32 models.
struct ZeroResult {
  std::vector<ZeroStep> steps;
  std::vector<nn::NamedTensor> parameters;
  std::vector<nn::NamedTensor> masters;
};

// train_zero runs a task on this rank with zero::Engine; all ranks of the world call it.
ZeroResult train_zero(const ZeroTask& task);

}  // namespace simmesh
