#include "zero/engine/engine.h"

#include "core/autograd/autocast.h"
#include "core/autograd/backward.h"
#include "core/check/error.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/optim/loss_scaler.h"
#include "zero/engine/configured_optimizer.h"
#include "zero/engine/engine_setup.h"
#include "zero/engine/master_dtype.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view engine_source = "zero/engine";

std::unique_ptr<Stage> make_stage(const StageSetup& setup) {
  switch (setup.config.zero_optimization.stage) {
    case 0: return make_stage0(setup);
    case 3: return make_stage3(setup);
    default: return make_flat_stage(setup);
  }
}

}  // namespace

struct Engine::State {
  State(nn::Module& trained, const MakeOptimizer& make_optimizer, const Config& given,
        const ProcessGroup& group, const ModelParallel& parallel)
      : module(trained),
        config(completed_config(given, group.size(), bool(make_optimizer))),
        has_optimizer(bool(make_optimizer)) {
    convert_module(module, config);
    StageSetup setup{module, make_optimizer, config, group, parallel};
    stage = make_stage(setup);
    if (make_optimizer) {
      check_optimizer(stage->optimizer(), config);
      if (config.scheduler) lr_scheduler.emplace(*config.scheduler, stage->optimizer());
    }
    if (auto options = config.loss_scaler()) scaler.emplace(*options);
    for (const auto& [name, parameter] : setup.parameters()) names.push_back(name);
  }

  double loss_scale() const { return scaler ? scaler->scale() : 1.0; }
  bool is_boundary_after(std::int64_t count) const {
    return config.managed_gradient_accumulation && count >= *config.gradient_accumulation_steps;
  }
  // Without management the caller's step is the boundary.
  bool steps_now() const {
    return config.managed_gradient_accumulation ? is_boundary_after(micro_batches)
                                                : micro_batches > 0;
  }

  std::size_t index_of(std::string_view name) const {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return i;
    raise(ErrorKind::key_error, engine_source, "expected the name of a parameter, got {}", name);
  }

  nn::Module& module;
  Config config;
  bool has_optimizer = false;
  std::unique_ptr<Stage> stage;
  std::optional<optim::LossScaler> scaler;
  std::optional<LrScheduler> lr_scheduler;
  std::vector<std::string> names;
  std::int64_t micro_batches = 0;  // since the last boundary
  bool is_applied = false;
  std::optional<double> norm;
};

Engine::Engine(nn::Module& module, const MakeOptimizer& make_optimizer, const Config& config,
               const ProcessGroup& group, const ModelParallel& parallel) {
  state_ = std::make_unique<State>(module, make_optimizer, config, group, parallel);
}

Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

nn::Module& Engine::module() const { return state_->module; }

Tensor Engine::operator()(const Tensor& input) const {
  bool casts = state_->config.fp16.auto_cast && is_floating_point(input.dtype());
  std::optional<Autocast> autocast;
  if (auto dtype = state_->config.torch_autocast.forward_dtype()) autocast.emplace(*dtype);
  return state_->module(casts ? to(input, DType::float16) : input);
}

void Engine::train(bool mode) { state_->module.train(mode); }

void Engine::backward(const Tensor& loss, bool scale_wrt_gas) {
  State& state = *state_;
  if (!state.has_optimizer)
    raise(ErrorKind::assertion_error, engine_source,
          "expected an optimizer for a backward pass, got none");
  before_backward();
  Tensor part = scale_wrt_gas ? div(loss, double(*state.config.gradient_accumulation_steps)) : loss;
  simmesh::backward(state.scaler ? state.scaler->scaled(part) : part);
  after_backward();
}

void Engine::before_backward() {
  state_->stage->before_backward(state_->is_boundary_after(state_->micro_batches + 1));
}

void Engine::after_backward() {
  state_->stage->after_backward();
  ++state_->micro_batches;
}

bool Engine::is_gradient_accumulation_boundary() const {
  return state_->is_boundary_after(state_->micro_batches);
}

void Engine::step() {
  State& state = *state_;
  if (!state.steps_now()) return;
  state.micro_batches = 0;
  StepResult result = state.stage->step(state.loss_scale());
  state.is_applied = result.is_applied;
  state.norm = result.norm;
  if (state.lr_scheduler && state.is_applied) state.lr_scheduler->step();
  if (state.scaler) state.scaler->update(result.is_finite);
}

Tensor Engine::squares() const { return state_->stage->squares(state_->loss_scale()); }

bool Engine::was_step_applied() const { return state_->is_applied; }

std::optional<double> Engine::get_global_grad_norm() const { return state_->norm; }

double Engine::loss_scale() const { return state_->loss_scale(); }

const std::vector<nn::NamedTensor>& Engine::masters() const { return state_->stage->masters(); }

optim::Optimizer& Engine::optimizer() const { return state_->stage->optimizer(); }

LrScheduler* Engine::lr_scheduler() const {
  return state_->lr_scheduler ? &*state_->lr_scheduler : nullptr;
}

std::vector<MasterShard> Engine::master_shards() const { return state_->stage->master_shards(); }

void Engine::masters_changed() { state_->stage->masters_changed(); }

optim::LossScaler* Engine::loss_scaler() const {
  return state_->scaler ? &*state_->scaler : nullptr;
}

std::vector<double> Engine::get_lr() const { return optimizer().learning_rates(); }

Tensor Engine::safe_get_full_fp32_param(std::string_view name) const {
  return state_->stage->full_fp32_param(state_->index_of(name));
}

Tensor Engine::safe_get_full_optimizer_state(std::string_view name, const std::string& key) const {
  return state_->stage->full_optimizer_state(state_->index_of(name), key);
}

Tensor Engine::safe_get_full_grad(std::string_view name) const {
  return state_->stage->full_grad(state_->index_of(name));
}

MemoryUse Engine::memory_use() const { return state_->stage->memory_use(); }

Engine initialize(nn::Module& module, const MakeOptimizer& make_optimizer, const Config& config,
                  const ProcessGroup& group, const ModelParallel& parallel) {
  return {module, make_optimizer, config, group, parallel};
}

Engine initialize(nn::Module& module, const Config& config, const ProcessGroup& group) {
  MakeOptimizer make_optimizer;
  if (config.optimizer) {
    ShapesByName shapes;
    for (const auto& [name, parameter] : module.named_parameters())
      shapes.emplace(name, parameter.shape());
    OptimizerConfig optimizer = *config.optimizer;
    optimizer.fp32_optimizer_states = has_float32_state(config);
    make_optimizer = configured_optimizer(optimizer, shapes);
  }
  return {module, make_optimizer, config, group};
}

}  // namespace simmesh::zero
