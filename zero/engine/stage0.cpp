#include <limits>

#include "collectives/collectives.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/clock/clock.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/optim/clip.h"
#include "core/optim/loss_scaler.h"
#include "core/tensor/convert.h"
#include "core/tensor/scalar_value.h"
#include "zero/engine/mean.h"
#include "zero/engine/norm.h"
#include "zero/engine/stage.h"

namespace simmesh::zero {

namespace {

Tensor master_of(const Tensor& parameter) {
  Tensor values = parameter.detach();
  Tensor master =
      parameter.dtype() == DType::float32 ? values : converted(values, DType::float32).clone();
  set_requires_grad(master, parameter.requires_grad());
  return master;
}

// Returns a copy that is scaled in place of the original, which a device wouldn't make.
Tensor copied_unseen(const Tensor& tensor) {
  Ledger::Uncharged unseen;
  Clock::Quiet no_launches;
  return tensor.clone();
}

// Stage0 adds gradients up over micro-batches in float32 and all-reduces each at the boundary.
class Stage0 final : public Stage {
 public:
  explicit Stage0(const StageSetup& setup)
      : config_(setup.config),
        group_(setup.group),
        parallel_(setup.parallel),
        parameters_(setup.parameters()) {
    for (const auto& [name, parameter] : parameters_)
      masters_.emplace_back(name, master_of(parameter));
    if (setup.make_optimizer) optimizer_ = setup.make_optimizer(masters_);
  }

  void before_backward(bool) override {}

  // Adds the gradients of a micro-batch to the sums and clears them on the parameters.
  void after_backward() override {
    NoGrad mode;
    KeepUnrounded scope;
    Ledger::Category category(MemoryCategory::gradient);
    gradients_.resize(parameters_.size());
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Tensor& parameter = parameters_[i].second;
      Tensor gradient = grad_of(parameter);
      if (!gradient.is_defined()) continue;
      Tensor wide = converted_unrounded(gradient.detach(), DType::float32);
      gradients_[i] = gradients_[i].is_defined() ? add(gradients_[i], wide) : wide;
      set_grad(parameter, Tensor());
    }
  }

  StepResult step(double loss_scale) override {
    NoGrad mode;
    StepResult result;
    settle(loss_scale);
    result.is_finite = *settled_;
    settled_.reset();
    result.is_applied = !config_.loss_scaler() || result.is_finite;
    result.norm = result.is_applied ? update_masters() : std::numeric_limits<double>::infinity();
    optimizer_->zero_grad();
    copy_to_parameters();
    return result;
  }

  Tensor squares(double loss_scale) override {
    NoGrad mode;
    settle(loss_scale);
    return squares_of_means();
  }

  const std::vector<nn::NamedTensor>& masters() const override { return masters_; }
  optim::Optimizer& optimizer() const override {
    if (!optimizer_)
      raise(ErrorKind::assertion_error, "zero/engine", "expected an optimizer, got none");
    return *optimizer_;
  }

  std::vector<MasterShard> master_shards() override {
    std::vector<MasterShard> shards;
    for (std::size_t i = 0; i < masters_.size(); ++i)
      shards.push_back({i, 0, masters_[i].second.numel()});
    return shards;
  }

  void masters_changed() override {
    NoGrad mode;
    copy_to_parameters();
  }

  Tensor full_fp32_param(std::size_t parameter) override {
    return masters_[parameter].second.detach();
  }

  Tensor full_optimizer_state(std::size_t parameter, const std::string& key) override {
    if (!optimizer_) return {};
    const auto& parameters = optimizer_->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!nn::is_same_tensor(parameters[i], masters_[parameter].second)) continue;
      auto found = optimizer_->state(i).find(key);
      return found == optimizer_->state(i).end() ? Tensor() : found->second;
    }
    return {};
  }

  Tensor full_grad(std::size_t parameter) override {
    NoGrad mode;
    const auto& [name, master] = masters_[parameter];
    if (!master.requires_grad() || !parallel_.has_gradient(name)) return {};
    gradients_.resize(parameters_.size());
    return mean_gradient(parameter);
  }

  MemoryUse memory_use() const override {
    MemoryUse use;
    if (optimizer_) use.moments = state_bytes(*optimizer_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Tensor& parameter = parameters_[i].second;
      use.live += std::int64_t(parameter.bytes());
      if (parameter.dtype() != DType::float32)
        use.master += std::int64_t(masters_[i].second.bytes());
      if (i < gradients_.size() && gradients_[i].is_defined())
        use.gradients += std::int64_t(gradients_[i].bytes());
    }
    return use;
  }

 private:
  // Returns the mean, or sum, of a parameter's gradient over the group.
  Tensor mean_gradient(std::size_t i) const {
    KeepUnrounded scope;
    Tensor own = gradients_[i].is_defined() ? gradients_[i]
                                            : zeros(masters_[i].second.shape(), DType::float32);
    double divisor = parallel_.adds_gradients ? 1.0 : double(group_.size());
    MeanOf mean{.before = divisor, .is_sum = config_.sum_gradients};
    if (mean.is_sum) own = copied_unseen(own);
    return all_reduce(mean.begin(own), ReduceOp::sum, group_);
  }

  // Averages the gradients once a step.
  void settle(double loss_scale) {
    if (!settled_) settled_ = average_gradients(loss_scale);
  }

  Tensor squares_of_means() const {
    KeepUnrounded scope;
    std::vector<Tensor> counted;
    for (const auto& [name, master] : masters_)
      if (Tensor mean = grad_of(master); mean.is_defined() && parallel_.is_counted(name))
        counted.push_back(mean);
    return optim::power_sum(counted, 2.0);
  }

  // Clips the means by a norm of more than those that are here.
  Tensor clip_by_norm_of_all() {
    Tensor norm = norm_of_squares(parallel_.squares_of_all(squares_of_means()));
    if (config_.gradient_clipping <= 0) return norm;
    Tensor factor = clip_factor(norm, config_.gradient_clipping);
    for (auto& [name, master] : masters_)
      if (Tensor mean = grad_of(master); mean.is_defined()) set_grad(master, mul(mean, factor));
    return norm;
  }

  // Gives the masters the means of the gradients over the group, divided by the loss scale. Returns
  // whether they are finite.
  bool average_gradients(double loss_scale) {
    bool is_finite = true;
    gradients_.resize(parameters_.size());
    for (std::size_t i = 0; i < masters_.size(); ++i) {
      Tensor& master = masters_[i].second;
      if (!master.requires_grad()) continue;
      Tensor mean = mean_gradient(i);
      is_finite &= optim::all_finite(mean);
      if (!parallel_.has_gradient(masters_[i].first)) continue;
      set_grad(master, config_.loss_scaler() ? div(mean, loss_scale) : mean);
    }
    gradients_.clear();
    return is_finite;
  }

  double update_masters() {
    std::vector<Tensor> tensors, means;
    for (const auto& [name, master] : masters_) {
      tensors.push_back(master);
      if (Tensor mean = grad_of(master); mean.is_defined()) means.push_back(mean);
    }
    double limit = config_.gradient_clipping;
    Tensor norm = parallel_.all_squares ? clip_by_norm_of_all()
                  : limit > 0           ? optim::clip_grad_norm_(tensors, {.max_norm = limit})
                                        : optim::total_norm(means);
    optimizer_->step();
    return known_scalar(norm, "the norm of the gradients").value_or(0.0);
  }

  void copy_to_parameters() {
    for (std::size_t i = 0; i < masters_.size(); ++i) {
      Tensor target = parameters_[i].second.detach();
      if (target.dtype() != DType::float32)
        copy_(target, converted(masters_[i].second.detach(), target.dtype()));
    }
  }

  Config config_;
  ProcessGroup group_;
  ModelParallel parallel_;
  std::optional<bool> settled_;  // once gradients are averaged: whether they are finite
  std::vector<nn::NamedTensor> parameters_;
  std::vector<nn::NamedTensor> masters_;
  std::vector<Tensor> gradients_;                // float32 sums over micro-batches
  std::unique_ptr<optim::Optimizer> optimizer_;  // null for an engine that only runs forward
};

}  // namespace

std::unique_ptr<Stage> make_stage0(const StageSetup& setup) {
  return std::make_unique<Stage0>(setup);
}

}  // namespace simmesh::zero
