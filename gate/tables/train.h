#pragma once

#include <cstdint>
#include <optional>

#include "core/tensor/formula.h"
#include "core/tensor/shape.h"
#include "gate/tables/learning_rate.h"
#include "training/training.h"

namespace simmesh {

// GateData is the table [data]: batches by formula. In step s the input has seed + 2 s and the
// target seed + 2 s + 1; or all steps take their rows from one data set of seed and seed + 1, in an
// order that ShuffledRows gives.
struct GateData {
  Rule rule = Rule::unit;
  std::uint64_t seed = 7;
  std::int64_t batch = 8;     // rows of a step, over all ranks and micro-batches
  std::int64_t rows = 0;      // of the data set; 0: each step has rows of its own
  std::int64_t sequence = 0;  // positions of a row; 0: a row is one position (not for tokens)
  // The sizes of one row.
  Shape input;
  Shape target;
  // The input is tokens below vocabulary and the target classes below classes; 0: they are values.
  std::int64_t vocabulary = 0;
  std::int64_t classes = 0;
};

// GateTrain is the table [train].
struct GateTrain {
  std::int64_t steps = 1;
  std::int64_t micro_batches = 1;
  OptimizerSpec optimizer = optim::SgdOptions{.lr = 0.01};
  std::optional<GateLearningRate> lr_schedule = {};
  double clip_grad_norm = 0.0;  // 0: no clipping
  LossKind loss = LossKind::mse;
  // The dtype of autocast in forward, from the section torch_autocast of a DeepSpeed file.
  std::optional<DType> autocast = {};
};

}  // namespace simmesh
