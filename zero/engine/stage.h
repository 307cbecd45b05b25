#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/process_group.h"
#include "core/nn/module.h"
#include "core/optim/optimizer.h"
#include "zero/config/config.h"
#include "zero/engine/memory_use.h"
#include "zero/engine/model_parallel.h"

namespace simmesh::zero {

// MakeOptimizer returns an optimiser for the masters, which have the names of their parameters.
using MakeOptimizer =
    std::function<std::unique_ptr<optim::Optimizer>(const std::vector<nn::NamedTensor>& masters)>;

// StageSetup are the arguments from which an engine is made.
struct StageSetup {
  nn::Module& module;
  const MakeOptimizer& make_optimizer;
  const Config& config;
  const ProcessGroup& group;
  ModelParallel parallel = {};

  // parameters returns the parameters that are trained here, in the order of the module.
  std::vector<nn::NamedTensor> parameters() const;
};

// StepResult is the outcome of a step. A step whose gradients aren't finite is skipped, and
// is_applied is false. The norm is that of the mean gradients divided by the loss scale, before
// clipping; infinity for a skipped step, nullopt where the stage computes none.
struct StepResult {
  bool is_finite = true;
  bool is_applied = true;
  std::optional<double> norm = {};
};

// MasterShard is the range of a parameter's elements, in row-major order, that a master holds:
// [begin, end).
struct MasterShard {
  std::size_t parameter = 0;  // its index in the module's parameters
  std::int64_t begin = 0, end = 0;
};

// Stage is the part of an engine that differs between the stages of ZeRO: who holds which part of
// the gradients, the masters and the optimiser's state, and when they communicate. The engine
// counts micro-batches and keeps the loss scale.
class Stage {
 public:
  virtual ~Stage() = default;

  // before_backward and after_backward surround the backward pass of a micro-batch. A step follows
  // the one at a boundary of gradient accumulation.
  virtual void before_backward(bool is_boundary) = 0;
  virtual void after_backward() = 0;

  // step averages the gradients of all micro-batches since the last step, divides them by the loss
  // scale, clips them and runs the optimiser's step.
  virtual StepResult step(double loss_scale) = 0;

  // squares returns the sum of the squares of the mean gradients that count, over the group, before
  // the step that uses them; see ModelParallel.
  virtual Tensor squares(double loss_scale) = 0;

  // masters are the tensors that the optimiser updates.
  virtual const std::vector<nn::NamedTensor>& masters() const = 0;
  virtual optim::Optimizer& optimizer() const = 0;

  // master_shards returns the range that each of the masters holds, and brings masters and the
  // optimiser's state back from files. masters_changed copies the masters to the parameters, after
  // somebody has changed the masters. All members of the group call it.
  virtual std::vector<MasterShard> master_shards() = 0;
  virtual void masters_changed() = 0;

  // Each returns a whole tensor of a parameter, by its index in the module's parameters: the
  // master, a tensor of the optimiser's state, or, between backward and step, the mean gradient
  // times the loss scale. Undefined where there is none. All members of the group call it.
  virtual Tensor full_fp32_param(std::size_t parameter) = 0;
  virtual Tensor full_optimizer_state(std::size_t parameter, const std::string& key) = 0;
  virtual Tensor full_grad(std::size_t parameter) = 0;

  // memory_use returns the stage's memory now.
  virtual MemoryUse memory_use() const = 0;
};

// state_bytes returns the bytes of an optimiser's state.
std::int64_t state_bytes(const optim::Optimizer& optimizer);

// make_stage0 keeps everything whole on every member.
std::unique_ptr<Stage> make_stage0(const StageSetup& setup);

// make_flat_stage partitions the masters and the optimiser's state, and in stage 2 the gradients.
std::unique_ptr<Stage> make_flat_stage(const StageSetup& setup);

// make_stage3 partitions parameters, gradients, masters and the optimiser's state.
std::unique_ptr<Stage> make_stage3(const StageSetup& setup);

}  // namespace simmesh::zero
