#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "checkpoint/catalog/state_dict.h"
#include "core/nn/model_node.h"
#include "core/optim/adam.h"
#include "core/optim/clip.h"
#include "core/optim/matrix/torch_muon.h"
#include "core/optim/sgd.h"
#include "core/tensor/formula.h"

namespace simmesh {

// ParameterData is the name, shape and values of one parameter. The values are those of the formula
// times scale plus offset, computed in double and rounded once.
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
  // Pairs of slots: the first slot of a pair holds the same parameter as the second.
  std::vector<std::pair<std::string, std::string>> tied;
  std::vector<std::string> frozen;
};

// SlotPath is the place of a parameter in a model; find_slot finds it by its dotted path.
struct SlotPath {
  nn::Module* module;
  std::string name;
  const Tensor& tensor() const { return module->parameter(name); }
};
SlotPath find_slot(nn::Module& model, const std::string& path);

// build_model makes the modules, ties and fills their parameters, and freezes some of them. Raises
// a ValueError if the given parameters aren't those of the modules.
nn::ModulePtr build_model(const TrainingModel& model);

// fill_model gives a model, or a part of one, the values of its parameters. A tied parameter may be
// given under the name of the other slot. Raises as build_model does.
void fill_model(nn::Module& model, const TrainingModel& values);

// build_meta_model does the same on the meta device, so parameters have no values.
nn::ModulePtr build_meta_model(const TrainingModel& model);

// parameter_values returns the values of a parameter in a dtype.
Tensor parameter_values(const ParameterData& parameter, DType dtype);

// LossKind names a loss of output x and target y: mse is the mean of squared differences,
// cross_entropy the mean of -log softmax(x)[y] over all positions, dot is sum(x * y) divided by the
// number of rows of the input.
enum class LossKind : std::uint8_t { mse, cross_entropy, dot };
std::string_view to_string(LossKind kind);
// loss_from_string is the inverse of to_string; nullopt for an unknown name.
std::optional<LossKind> loss_from_string(std::string_view name);

// AdamSpec is Adam or AdamW, by the kind of weight decay.
struct AdamSpec {
  optim::AdamOptions options;
  optim::WeightDecay decay = optim::WeightDecay::added;
};
// MuonSpec is Muon for the parameters of two dims, and Adam for all others. A distributed matrix is
// stepped whole by a rank that owns it, or by ops that redistribute it, as PyTorch does.
struct MuonSpec {
  optim::TorchMuonOptions muon;
  AdamSpec others = {.options = {}, .decay = optim::WeightDecay::decoupled};
  bool by_ops = false;
};
using OptimizerSpec = std::variant<optim::SgdOptions, AdamSpec, MuonSpec>;

// make_optimizer returns an optimiser for the parameters, in their order. The second form is for
// parameters that are flat pieces of others, whose shapes are given.
std::unique_ptr<optim::Optimizer> make_optimizer(const OptimizerSpec& spec,
                                                 const std::vector<Tensor>& parameters);
std::unique_ptr<optim::Optimizer> make_optimizer(const OptimizerSpec& spec,
                                                 const std::vector<Tensor>& pieces,
                                                 const std::vector<Shape>& shapes);

// Batch is the whole input and target of one micro-batch, over all ranks.
struct Batch {
  Tensor input;
  Tensor target;
};

// TrainingTask is a training run that says nothing about parallelism: every form of parallelism
// must give the result of one device.
struct TrainingTask {
  TrainingModel model;
  std::function<Batch(std::int64_t step, std::int64_t micro_batch)> batch;
  std::int64_t steps = 1;
  std::int64_t micro_batches = 1;
  LossKind loss = LossKind::mse;
  // The model's forward passes run under autocast in this dtype; the loss and its terms don't.
  std::optional<DType> autocast = {};
  // The model is built on the meta device, and its parameters get memory and values once the form
  // has prepared it (see init_from_meta). Only for forms that keep no tensors of the model.
  bool init_on_meta = false;
  // The number of terms of the loss of a step, over all ranks and micro-batches; their sum is
  // divided by it.
  double terms = 1.0;
  OptimizerSpec optimizer;
  std::optional<optim::ClipOptions> clip;
  double norm_type = 2.0;  // of the reported norms
  // The factor of the optimiser's learning rates at a step; 1 by default.
  std::function<double(std::int64_t step)> rate_factor = {};
};

// TrainPhase is a part of a training step: the forward pass of its first micro-batch, the backward
// pass of its last one, or the step of the optimiser.
enum class TrainPhase : std::uint8_t { forward, backward, optimizer };
std::string_view to_string(TrainPhase phase);

class PipelineRanks;
class Replication;
class SpreadParameters;
class TrainingEngine;
struct ParallelForm;

// ParallelForm is the part of a training run that one form of parallelism adds. The default adds
// nothing, so the run is that of one device.
struct ParallelForm {
  // The part of each batch that this rank takes, along dim 0.
  std::int64_t part = 0;
  std::int64_t parts = 1;
  // Returns the rank's part of these rows of an input or target; all of them by default.
  std::function<Tensor(const Tensor& rows)> part_of_rows = {};
  // The divisor of gradients after they are summed over the parts: 1 for sums, the number of parts
  // for means. The loss of each part is multiplied by it.
  double gradient_divisor = 1.0;
  // Multiplies the gradients, and not the reported losses: a fault, unless it is 1.
  double gradient_factor = 1.0;
  // prepare changes the model before the optimiser is made.
  std::function<void(nn::Module& model)> prepare = {};
  // make_engine returns the object that runs backward passes and steps (see training_engine.h); the
  // arguments outlive it.
  std::function<std::unique_ptr<TrainingEngine>(nn::Module& model, const TrainingTask& task,
                                                const ParallelForm& form)>
      make_engine = {};
  // Called before the forward pass of each micro-batch.
  std::function<void(nn::Module& model, bool is_last)> before_micro_batch = {};
  // Called after the last backward pass of a step; then all gradients are sums over all ranks.
  std::function<void(nn::Module& model)> after_backward = {};
  // Called when a step reaches a phase.
  std::function<void(std::int64_t step, TrainPhase phase)> at_phase = {};
  // false: the run only trains; nothing is gathered for a report, and the result is empty.
  bool reports = true;
  // Called before and after operations that only gather results to report.
  std::function<void(bool begins)> at_report = {};
  // Called before the first step: loads a checkpoint into the state of the run, and returns the
  // step with which to continue. save is called after the last step.
  std::function<std::int64_t(checkpoint::StateDict& state)> load = {};
  std::function<void(checkpoint::StateDict& state)> save = {};
  // Called after each step of the optimiser; state returns the contents of a checkpoint of the run
  // at that time.
  std::function<void(std::int64_t step, const std::function<checkpoint::StateDict()>& state)>
      after_step = {};
  // Called after the last step, before the losses are added up over ranks.
  std::function<void()> after_training = {};
  // all_sum adds a tensor over the ranks that take different parts.
  std::function<Tensor(const Tensor& value)> all_sum = {};
  // The parameters that some ranks lack, if any; set from prepare on.
  std::shared_ptr<std::optional<SpreadParameters>> spread = {};
  // The replication of the model, if there is one; set from prepare on.
  std::shared_ptr<std::optional<Replication>> replication = {};
  // The ranks that have the other stages of the model, if any (see train_pipeline).
  std::shared_ptr<const PipelineRanks> pipeline = {};
};

// TrainingResult is the result of a run: the loss of each step, the norm of its gradients before
// clipping, and the state at the end. Copies of gradients and gathered tensors are in host memory,
// which isn't charged to the rank.
struct TrainingResult {
  std::int64_t first_step = 0;
  std::vector<Tensor> losses;  // float64, without dims
  std::vector<Tensor> norms;
  // The gradients of each step after clipping, one per parameter.
  std::vector<std::vector<nn::NamedTensor>> gradients;
  std::vector<nn::NamedTensor> parameters;
  std::vector<nn::NamedTensor> optimizer_state;
};

// train runs a task on this rank, in the current arithmetic.
TrainingResult train(const TrainingTask& task, const ParallelForm& form = {});

}  // namespace simmesh
