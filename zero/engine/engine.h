#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/process_group.h"
#include "core/nn/module.h"
#include "core/optim/loss_scaler.h"
#include "core/optim/optimizer.h"
#include "zero/config/config.h"
#include "zero/config/lr_scheduler.h"
#include "zero/engine/stage.h"

namespace simmesh::zero {

// Engine trains a module on every member of a group, each with its own part of the data, as
// DeepSpeed's engine does.
//
// The optimiser works on masters: float32 copies of 16-bit parameters, and float32 parameters
// themselves. At the accumulation boundary gradients are averaged over the members. A parameter
// without a gradient counts as zeros. The state that a member holds depends on
// zero_optimization.stage:
// - 0: everything is whole on every member. Gradients are added up over micro-batches in float32,
//   and each is all-reduced at the boundary: one all-reduce of 4 bytes per element for each
//   parameter that requires a gradient.
// - 1: masters and the optimiser's state are partitioned: those of each group of the optimiser are
//   in a flat buffer, of which every member owns a slice (see FlatLayout). Gradients add up on the
//   parameters; in the backward pass at the boundary they go through buckets of reduce_bucket_size
//   elements, each all-reduced, and a member keeps the part that it owns. After the step one
//   all-gather a group joins the slices again.
// - 2: as 1, and the gradients of every micro-batch are reduced, so that a member keeps only its
//   own part of their sum.
// From stage 1 on a step is skipped if a gradient of any member isn't finite.
//
//   auto make_sgd = [](const std::vector<nn::NamedTensor>& masters) {
//     std::vector<Tensor> tensors;
//     for (const auto& [name, tensor] : masters) tensors.push_back(tensor);
//     return std::make_unique<optim::Sgd>(tensors, optim::SgdOptions{.lr = 0.1});
//   };
//   zero::Engine engine = zero::initialize(model, make_sgd, {.gradient_clipping = 1.0}, dp);
//   engine.backward(loss(engine(x)));
//   engine.step();
class Engine {
 public:
  // Raises as Config::check does, and AssertionErrors for keys that don't go together.
  Engine(nn::Module& module, const MakeOptimizer& make_optimizer, const Config& config,
         const ProcessGroup& group, const ModelParallel& parallel = {});
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // module returns the module that is trained. Calling the engine calls it; with fp16.auto_cast a
  // floating input is converted to float16 first.
  nn::Module& module() const;
  Tensor operator()(const Tensor& input) const;
  // train and eval set the mode of the module.
  void train(bool mode = true);
  void eval() { train(false); }

  // backward adds the gradients of loss / gradient_accumulation_steps, times the loss scale. With
  // scale_wrt_gas off the loss isn't divided. Raises an AssertionError without an optimiser.
  void backward(const Tensor& loss, bool scale_wrt_gas = true);

  // before_backward and after_backward surround a backward pass that another engine, of the same
  // module's other parameters, makes.
  void before_backward();
  void after_backward();

  // is_gradient_accumulation_boundary is true if the next step changes the parameters. It is false
  // if managed_gradient_accumulation is off: then each step after a backward pass changes them.
  bool is_gradient_accumulation_boundary() const;

  // step does nothing before the boundary. At the boundary it averages the gradients over the
  // group, clips them, and runs the optimiser's step, and after it the scheduler's. With loss
  // scaling it skips both if a gradient isn't finite. All members call it.
  void step();

  // squares returns the sum of the squares of the gradients that the next step uses and that count
  // in its norm, over the group; between the last backward pass and the step. All members call it.
  Tensor squares() const;

  // was_step_applied is true if the last step at a boundary changed the parameters.
  bool was_step_applied() const;
  // get_global_grad_norm returns the norm of the averaged gradients in the last step, before
  // clipping. It is infinity if that step was skipped, and nullopt before the first step.
  std::optional<double> get_global_grad_norm() const;
  // loss_scale returns the current loss scale, 1 without loss scaling.
  double loss_scale() const;

  // masters returns the tensors that the optimiser updates, in the order of the module's
  // parameters.
  const std::vector<nn::NamedTensor>& masters() const;
  optim::Optimizer& optimizer() const;
  // lr_scheduler is that of the section scheduler; null without one, or without an optimiser.
  LrScheduler* lr_scheduler() const;
  // get_lr returns the learning rates of the next step, one per group of the optimiser.
  std::vector<double> get_lr() const;

  // master_shards returns which elements of a parameter each of the masters holds, for code that
  // saves or loads masters and the optimiser's state. masters_changed copies the masters to the
  // parameters, after a load has changed the masters. All members call it.
  std::vector<MasterShard> master_shards() const;
  void masters_changed();
  // loss_scaler keeps the loss scale; null without loss scaling.
  optim::LossScaler* loss_scaler() const;

  // These return a whole tensor of a parameter, by its name: its master, a tensor of the
  // optimiser's state such as "exp_avg", and, between backward and step, the mean of its gradient
  // over the group, times the loss scale. The result is undefined where there is none. All members
  // call them. Raise a KeyError for an unknown name.
  Tensor safe_get_full_fp32_param(std::string_view name) const;
  Tensor safe_get_full_optimizer_state(std::string_view name, const std::string& key) const;
  Tensor safe_get_full_grad(std::string_view name) const;

  // memory_use returns what the engine holds on this rank now.
  MemoryUse memory_use() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// initialize makes an engine, as deepspeed.initialize does. Each member of the group calls it with
// a module that has the same parameters. The module must outlive the engine.
//
// From stage 1 on make_optimizer is called twice: first with the parameters, to learn the
// optimiser's groups, whose parameters are laid out together, and then with the masters of this
// member, which have the names of their parameters. In stages 0 and 3 it may be empty: the engine
// then has no optimiser. Where the model isn't whole on the members, `parallel` says so.
Engine initialize(nn::Module& module, const MakeOptimizer& make_optimizer, const Config& config,
                  const ProcessGroup& group, const ModelParallel& parallel = {});

// This initialize makes the optimiser of the section optimizer of the configuration, if it has one.
Engine initialize(nn::Module& module, const Config& config, const ProcessGroup& group);

}  // namespace simmesh::zero
