#pragma once

#include "core/nn/init.h"
#include "core/nn/module.h"

namespace simmesh::nn {

// BatchNorm normalises each feature over the batch, and keeps running statistics, which it uses
// outside training: see batch_norm. Parameters are weight and bias where affine; buffers
// running_mean, running_var and num_batches_tracked.
class BatchNorm : public Module {
 public:
  // Options are PyTorch's, with its defaults. Without tracking it always normalises with the
  // statistics of the batch, and has no buffers.
  struct Options {
    std::int64_t features;
    double eps = 1e-5;
    double momentum = 0.1;
    bool affine = true;
    bool track_running_stats = true;
    ParameterOptions parameters = {};
  };

  Tensors forward(const Tensors& inputs) override;

 protected:
  // An input has from least to most dims.
  struct Dimensions {
    std::int64_t least;
    std::int64_t most;
  };
  BatchNorm(const Options& options, const Dimensions& dims);

 private:
  Options options_;
  Dimensions dims_;
};

// BatchNorm1d takes x [N, C] or [N, C, L]. Raises a ValueError for others.
class BatchNorm1d final : public BatchNorm {
 public:
  explicit BatchNorm1d(const Options& options) : BatchNorm(options, {2, 3}) {}
};

// BatchNorm2d takes x [N, C, H, W]. Raises a ValueError for others.
class BatchNorm2d final : public BatchNorm {
 public:
  explicit BatchNorm2d(const Options& options) : BatchNorm(options, {4, 4}) {}
};

}  // namespace simmesh::nn
