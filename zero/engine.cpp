#include "zero/engine.h"

#include <limits>

#include "collectives/collectives.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/optim/clip.h"
#include "core/tensor/convert.h"
#include "core/tensor/scalar_value.h"

namespace simmesh::zero {

namespace {

Tensor master_of(const Tensor& parameter) {
  Tensor values = parameter.detach();
  Tensor master =
      parameter.dtype() == DType::float32 ? values : converted(values, DType::float32).clone();
  set_requires_grad(master, parameter.requires_grad());
  return master;
}

void check(const Config& config) {
  constexpr std::string_view where = "zero/engine";
  if (config.gradient_accumulation_steps < 1)
    raise(ErrorKind::value_error, where, "expected at least 1 gradient accumulation step, got {}",
          config.gradient_accumulation_steps);
  if (!(config.gradient_clipping >= 0))
    raise(ErrorKind::value_error, where, "expected a gradient_clipping of at least 0, got {}",
          config.gradient_clipping);
}

}  // namespace

struct Engine::State {
  State(nn::Module& trained, const MakeOptimizer& make_optimizer, const Config& given,
        const ProcessGroup& over)
      : module(trained), config(given), group(over), parameters(trained.named_parameters()) {
    for (const auto& [name, parameter] : parameters)
      masters.emplace_back(name, master_of(parameter));
    optimizer = make_optimizer(masters);
    if (config.fp16) scaler.emplace(*config.fp16);
  }

  // Adds the gradients of a micro-batch to the sums and clears them on the parameters.
  void add_gradients() {
    gradients.resize(parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Tensor& parameter = parameters[i].second;
      Tensor gradient = grad_of(parameter);
      if (!gradient.is_defined()) continue;
      Tensor wide = converted(gradient.detach(), DType::float32);
      gradients[i] = gradients[i].is_defined() ? add(gradients[i], wide) : wide;
      set_grad(parameter, Tensor());
    }
  }

  // Gives the masters the means of the gradients over the group, divided by the loss scale. Says
  // whether they are finite.
  bool average_gradients() {
    bool is_finite = true;
    gradients.resize(parameters.size());
    for (std::size_t i = 0; i < masters.size(); ++i) {
      Tensor& master = masters[i].second;
      if (!master.requires_grad()) continue;
      Tensor own = gradients[i].is_defined() ? gradients[i] : zeros(master.shape(), DType::float32);
      Tensor mean = all_reduce(div(own, double(group.size())), ReduceOp::sum, group);
      is_finite &= optim::all_finite(mean);
      set_grad(master, scaler ? div(mean, scaler->scale()) : mean);
    }
    gradients.clear();
    return is_finite;
  }

  void update_masters() {
    std::vector<Tensor> tensors, means;
    for (const auto& [name, master] : masters) {
      tensors.push_back(master);
      if (Tensor mean = grad_of(master); mean.is_defined()) means.push_back(mean);
    }
    double limit = config.gradient_clipping;
    norm = scalar_value(limit > 0 ? optim::clip_grad_norm_(tensors, {.max_norm = limit})
                                  : optim::total_norm(means));
    optimizer->step();
  }

  void copy_to_parameters() {
    for (std::size_t i = 0; i < masters.size(); ++i) {
      Tensor target = parameters[i].second.detach();
      if (target.dtype() != DType::float32)
        copy_(target, converted(masters[i].second.detach(), target.dtype()));
    }
  }

  void step() {
    NoGrad mode;
    bool is_finite = average_gradients();
    is_applied = !scaler || is_finite;
    if (is_applied)
      update_masters();
    else
      norm = std::numeric_limits<double>::infinity();
    optimizer->zero_grad();
    copy_to_parameters();
    if (scaler) scaler->update(is_finite);
  }

  nn::Module& module;
  Config config;
  ProcessGroup group;
  std::vector<nn::NamedTensor> parameters;
  std::vector<nn::NamedTensor> masters;
  std::vector<Tensor> gradients;  // float32 sums over micro-batches
  std::unique_ptr<optim::Optimizer> optimizer;
  std::optional<optim::LossScaler> scaler;
  std::int64_t micro_batches = 0;  // since the last boundary
  bool is_applied = false;
  std::optional<double> norm;
};

Engine::Engine(nn::Module& module, const MakeOptimizer& make_optimizer, const Config& config,
               const ProcessGroup& group) {
  check(config);
  state_ = std::make_unique<State>(module, make_optimizer, config, group);
}

Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

nn::Module& Engine::module() const { return state_->module; }

Tensor Engine::operator()(const Tensor& input) const { return state_->module(input); }

void Engine::backward(const Tensor& loss) {
  State& state = *state_;
  Tensor part = div(loss, double(state.config.gradient_accumulation_steps));
  simmesh::backward(state.scaler ? state.scaler->scaled(part) : part);
  state.add_gradients();
  ++state.micro_batches;
}

bool Engine::is_gradient_accumulation_boundary() const {
  return state_->micro_batches >= state_->config.gradient_accumulation_steps;
}

void Engine::step() {
  if (!is_gradient_accumulation_boundary()) return;
  state_->micro_batches = 0;
  state_->step();
}

bool Engine::was_step_applied() const { return state_->is_applied; }

std::optional<double> Engine::get_global_grad_norm() const { return state_->norm; }

double Engine::loss_scale() const { return state_->scaler ? state_->scaler->scale() : 1.0; }

const std::vector<nn::NamedTensor>& Engine::masters() const { return state_->masters; }

optim::Optimizer& Engine::optimizer() const { return *state_->optimizer; }

Engine initialize(nn::Module& module, const MakeOptimizer& make_optimizer, const Config& config,
                  const ProcessGroup& group) {
  return {module, make_optimizer, config, group};
}

}  // namespace simmesh::zero
