#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/nn/model_node.h"
#include "core/optim/adam.h"
#include "core/optim/clip.h"
#include "core/optim/sgd.h"
#include "core/tensor/formula.h"

namespace simmesh {

// ParameterData is one parameter's name, shape and values: the formula's, times scale, plus offset,
// computed in double and rounded once.
struct ParameterData {
  std::string name;
  Shape shape;
  Formula data;
  double scale = 1.0;
  double offset = 0.0;
};

// TrainingModel describes a model and all its parameters.
struct TrainingModel {
  nn::ModelNode node;
  DType dtype = DType::float32;
  std::vector<ParameterData> parameters;
  // The first slot of a pair holds the same parameter as the second.
  std::vector<std::pair<std::string, std::string>> tied;
  std::vector<std::string> frozen;
};

// SlotPath is a parameter's place in a model; find_slot finds it by its dotted path.
struct SlotPath {
  nn::Module* module;
  std::string name;
  const Tensor& tensor() const { return module->parameter(name); }
};
SlotPath find_slot(nn::Module& model, const std::string& path);

// build_model makes the modules, ties, fills and freezes. Raises a ValueError where the parameters
// given aren't those of the modules.
nn::ModulePtr build_model(const TrainingModel& model);

// build_meta_model makes the modules on the meta device, tied and frozen, without values.
nn::ModulePtr build_meta_model(const TrainingModel& model);

// parameter_values returns a parameter's values in a dtype.
Tensor parameter_values(const ParameterData& parameter, DType dtype);

// LossKind says what is trained on: the mean of squared differences, of -log softmax(x)[y] over all
// positions, or sum(x * y) over the rows of the input.
enum class LossKind : std::uint8_t { mse, cross_entropy, dot };
std::string_view to_string(LossKind kind);
// loss_from_string is the inverse; nothing for an unknown name.
std::optional<LossKind> loss_from_string(std::string_view name);

// AdamSpec is Adam with its way of weight decay.
struct AdamSpec {
  optim::AdamOptions options;
  optim::WeightDecay decay = optim::WeightDecay::added;
};
using OptimizerSpec = std::variant<optim::SgdOptions, AdamSpec>;

// make_optimizer returns an optimiser of the parameters.
std::unique_ptr<optim::Optimizer> make_optimizer(const OptimizerSpec& spec,
                                                 const std::vector<Tensor>& parameters);

// Batch is the whole input and target of one micro-batch, over all ranks.
struct Batch {
  Tensor input;
  Tensor target;
};

// TrainingTask is a training run without any word on parallelism: every form of it must give what
// one device gives.
struct TrainingTask {
  TrainingModel model;
  std::function<Batch(std::int64_t step, std::int64_t micro_batch)> batch;
  std::int64_t steps = 1;
  std::int64_t micro_batches = 1;
  LossKind loss = LossKind::mse;
  // Terms of a step's loss over all ranks and micro-batches, by which their sum is divided.
  double terms = 1.0;
  OptimizerSpec optimizer;
  std::optional<optim::ClipOptions> clip;
  double norm_type = 2.0;  // of the norms that are reported
};

// TrainPhase is a part of a training step: the forward passes of its first micro-batch, the
// backward pass of its last, what the optimiser does.
enum class TrainPhase : std::uint8_t { forward, backward, optimizer };
std::string_view to_string(TrainPhase phase);

// ParallelForm is what one form of parallelism adds to a training run. What is left out does
// nothing: one device.
struct ParallelForm {
  // The part of each batch that this rank takes, along dim 0.
  std::int64_t part = 0;
  std::int64_t parts = 1;
  // What gradients are divided by once they are summed over the parts, so that each part's loss is
  // multiplied by it: 1 for sums, the number of parts for means.
  double gradient_divisor = 1.0;
  // prepare changes the model before the optimiser is made.
  std::function<void(nn::Module& model)> prepare = {};
  // Called before the forward pass of each micro-batch.
  std::function<void(nn::Module& model, bool is_last)> before_micro_batch = {};
  // Called after the last backward pass of a step; then all gradients are sums over all ranks.
  std::function<void(nn::Module& model)> after_backward = {};
  // Called when a step reaches a phase.
  std::function<void(std::int64_t step, TrainPhase phase)> at_phase = {};
  // false: nothing is brought together and the result is empty, so that a run does what training
  // needs and no more.
  bool reports = true;
  // Called where operations begin, and end, that only bring together what is reported.
  std::function<void(bool begins)> at_report = {};
  // Called after the last step, before the losses are added up over ranks.
  std::function<void()> after_training = {};
  // all_sum adds a tensor over the ranks that take different parts.
  std::function<Tensor(const Tensor& value)> all_sum = {};
};

// TrainingResult is what a run gives: for each step its loss and the norm of its gradients before
// clipping, and what is there at the end. Copies of gradients, and of what was gathered, lie in the
// memory of the host, which isn't charged to the rank.
struct TrainingResult {
  std::vector<Tensor> losses;  // float64, without dims
  std::vector<Tensor> norms;
  // The gradients of each step after clipping, by parameter.
  std::vector<std::vector<nn::NamedTensor>> gradients;
  std::vector<nn::NamedTensor> parameters;
  std::vector<nn::NamedTensor> optimizer_state;
};

// train runs a task on this rank, as the current arithmetic says.
TrainingResult train(const TrainingTask& task, const ParallelForm& form = {});

}  // namespace simmesh
