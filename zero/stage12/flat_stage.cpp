#include <limits>

#include "collectives/collectives.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/convert.h"
#include "core/tensor/flat.h"
#include "core/tensor/scalar_value.h"
#include "zero/engine/lower_dtypes.h"
#include "zero/engine/master_dtype.h"
#include "zero/engine/norm.h"
#include "zero/engine/stage.h"
#include "zero/engine/whole_step.h"
#include "zero/stage12/flat_gradients.h"
#include "zero/stage12/flat_partition.h"

namespace simmesh::zero {

namespace {

// OptimizerGroups are the groups of the user's optimiser, as indices of parameters, and which
// parameters it needs whole.
struct OptimizerGroups {
  std::vector<std::vector<std::size_t>> members;
  std::vector<bool> needs_whole;
};

OptimizerGroups groups_of(const StageSetup& setup, const std::vector<nn::NamedTensor>& parameters) {
  std::vector<nn::NamedTensor> trainable;
  for (const nn::NamedTensor& parameter : parameters)
    if (parameter.second.requires_grad()) trainable.push_back(parameter);
  std::unique_ptr<optim::Optimizer> optimizer = setup.make_optimizer(trainable);
  OptimizerGroups groups{{}, std::vector<bool>(parameters.size(), false)};
  const std::vector<Tensor>& optimized = optimizer->parameters();
  for (std::size_t i = 0; i < optimized.size(); ++i)
    for (std::size_t j = 0; j < parameters.size(); ++j) {
      if (!nn::is_same_tensor(optimized[i], parameters[j].second)) continue;
      groups.members.resize(std::max(groups.members.size(), optimizer->group_of(i) + 1));
      groups.members[optimizer->group_of(i)].push_back(j);
      groups.needs_whole[j] = optimizer->needs_whole(i);
    }
  return groups;
}

FlatPartition::Options partition_options(const StageSetup& setup) {
  const ZeroOptimization& zero = setup.config.zero_optimization;
  return {.rank = setup.group.rank(),
          .layout = {.ranks = setup.group.size(),
                     .round_robin = zero.round_robin_gradients,
                     .alignment = zero.parameter_alignment ? 16 : 1},
          .is_offloaded = is_offloaded(setup.config.zero_optimization.offload_optimizer),
          .master_dtype = master_dtype(setup.config)};
}

std::vector<std::string> names_of(const std::vector<nn::NamedTensor>& parameters) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters) names.push_back(name);
  return names;
}

// FlatStage is stages 1 and 2. In stage 1 gradients add up on the parameters and are reduced at the
// boundary: when its backward pass is over, in the order of the optimizer's parameters, or with
// overlap_comm in the pass as they come. Stage 2 reduces those of every micro-batch as they come,
// and keeps this rank's pieces.
class FlatStage final : public Stage {
 public:
  explicit FlatStage(const StageSetup& setup)
      : config_(setup.config),
        group_(setup.group),
        parallel_(setup.parallel),
        parameters_(setup.parameters()),
        groups_(groups_of(setup, parameters_)),
        partition_(parameters_, groups_.members, partition_options(setup)),
        gradients_(partition_, config_, group_,
                   {.names = names_of(parameters_),
                    .lower_dtypes = lower_dtypes(setup.module, config_.torch_autocast),
                    .adds_gradients = parallel_.adds_gradients}),
        kept_(parameters_.size()) {
    for (const OwnedPiece& piece : partition_.pieces())
      masters_.emplace_back(parameters_[piece.parameter].first, piece.master);
    optimizer_ = setup.make_optimizer(masters_);
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (partition_.has(i))
        register_accumulate_hook(parameters_[i].second, [weak = std::weak_ptr(self_), i](Tensor&) {
          if (auto self = weak.lock()) (*self)->gradient_came(i);
        });
  }

  void before_backward(bool is_boundary) override {
    reduces_ = is_boundary || config_.zero_optimization.stage == 2;
  }

  void after_backward() override {
    if (reduces_)
      reduce_rest();
    else
      keep_gradients();
    reduces_ = false;
  }

  StepResult step(double loss_scale) override {
    NoGrad mode;
    reduce_rest();
    std::vector<Tensor> means;
    for (const OwnedPiece& piece : partition_.pieces())
      if (piece.gradient.is_defined()) means.push_back(piece.gradient);
    StepResult result;
    bool checks = !config_.bf16.enabled || config_.bf16.check_grad_overflow;
    result.is_finite = result.is_applied = !checks || are_all_finite(means, group_);
    if (result.is_finite) {
      result.norm = update_masters(loss_scale);
      publish();
    } else {
      result.norm = std::numeric_limits<double>::infinity();
    }
    gradients_.drop();
    return result;
  }

  Tensor squares(double loss_scale) override {
    NoGrad mode;
    reduce_rest();
    return squares_of(means_of(loss_scale));
  }

  const std::vector<nn::NamedTensor>& masters() const override { return masters_; }
  optim::Optimizer& optimizer() const override { return *optimizer_; }

  std::vector<MasterShard> master_shards() override {
    std::vector<MasterShard> shards;
    for (const OwnedPiece& piece : partition_.pieces())
      shards.push_back({piece.parameter, piece.first, piece.first + piece.count});
    return shards;
  }

  void masters_changed() override {
    NoGrad mode;
    publish();
  }

  Tensor full_fp32_param(std::size_t parameter) override {
    const OwnedPiece* piece = partition_.piece_of(parameter);
    if (!partition_.has(parameter))
      return converted(parameters_[parameter].second.detach(), DType::float32);
    return whole(parameter, piece == nullptr ? Tensor() : piece->master.detach());
  }

  Tensor full_optimizer_state(std::size_t parameter, const std::string& key) override {
    if (!partition_.has(parameter)) return {};
    if (parameters_[parameter].second.numel() == 0) return state_without_elements(parameter, key);
    const OwnedPiece* piece = partition_.piece_of(parameter);
    Tensor own;
    const std::vector<Tensor>& optimized = optimizer_->parameters();
    for (std::size_t i = 0; piece != nullptr && i < optimized.size(); ++i)
      if (nn::is_same_tensor(optimized[i], piece->master))
        if (auto found = optimizer_->state(i).find(key); found != optimizer_->state(i).end())
          own = found->second;
    return whole(parameter, own);
  }

  Tensor full_grad(std::size_t parameter) override {
    NoGrad mode;
    if (!partition_.has(parameter) || !parallel_.has_gradient(parameters_[parameter].first))
      return {};
    reduce_rest();
    const OwnedPiece* piece = partition_.piece_of(parameter);
    Tensor own;
    if (piece != nullptr)
      own = piece->gradient.is_defined() ? converted(piece->gradient, DType::float32)
                                         : zeros({piece->count}, DType::float32);
    return whole(parameter, own);
  }

  MemoryUse memory_use() const override {
    MemoryUse use{.moments = state_bytes(*optimizer_), .buckets = gradients_.bucket_bytes()};
    for (const FlatGroup& group : partition_.groups())
      use.master += std::int64_t(group.master.bytes());
    for (const OwnedPiece& piece : partition_.pieces())
      if (piece.gradient.is_defined()) use.gradients += std::int64_t(piece.gradient.bytes());
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Tensor& parameter = parameters_[i].second;
      use.live += std::int64_t(parameter.bytes());
      for (const Tensor& gradient : {grad_of(parameter), kept_[i]})
        if (gradient.is_defined()) use.gradients += std::int64_t(gradient.bytes());
    }
    return use;
  }

 private:
  void gradient_came(std::size_t parameter) {
    const ZeroOptimization& zero = config_.zero_optimization;
    if (reduces_ && (zero.stage == 2 || zero.overlaps())) reduce(parameter);
  }

  // Returns the sum of a parameter's kept gradient and its last one, which is dropped from the
  // parameter. Undefined where there is none.
  Tensor take_gradient(std::size_t parameter) {
    KeepUnrounded scope;
    Ledger::Category category(MemoryCategory::gradient);
    Tensor& leaf = parameters_[parameter].second;
    Tensor kept = std::exchange(kept_[parameter], Tensor());
    Tensor last = grad_of(leaf);
    if (!last.is_defined()) return kept;
    last = last.detach();
    set_grad(leaf, Tensor());
    return kept.is_defined() ? add(kept, converted_unrounded(last, kept.dtype())) : last;
  }

  void reduce(std::size_t parameter) {
    NoGrad mode;
    if (Tensor gradient = take_gradient(parameter); gradient.is_defined())
      gradients_.add(parameter, gradient);
  }

  // Reduces gradients that no hook reduced, such as those of a parameter that only earlier
  // micro-batches used.
  void reduce_rest() {
    for (const std::vector<std::size_t>& group : groups_.members)
      for (std::size_t parameter : group)
        if (partition_.has(parameter)) reduce(parameter);
    gradients_.flush();
  }

  // Gradients stay on their parameters unless they are added up in another dtype.
  void keep_gradients() {
    NoGrad mode;
    std::optional<DType> dtype = config_.data_types.grad_accum_dtype;
    for (std::size_t i = 0; dtype && i < parameters_.size(); ++i)
      if (partition_.has(i) && parameters_[i].second.dtype() != *dtype)
        if (Tensor gradient = take_gradient(i); gradient.is_defined()) {
          KeepUnrounded scope;
          kept_[i] = converted_unrounded(gradient, *dtype);
        }
  }

  // Gives the masters the mean gradients, divided by the loss scale and clipped, and runs the
  // optimiser's step. Returns the norm before clipping.
  std::optional<double> update_masters(double loss_scale) {
    Ledger::Uncharged host(is_offloaded(config_.zero_optimization.offload_optimizer));
    std::vector<Tensor> means = means_of(loss_scale);
    std::optional<double> result;
    Tensor factor;
    if (config_.zero_optimization.compute_grad_norm) {
      Tensor norm = norm_of_squares(parallel_.squares_of_all(squares_of(means)));
      result = known_scalar(norm, "the norm of the gradients");
      if (config_.gradient_clipping > 0) factor = clip_factor(norm, config_.gradient_clipping);
    }
    for (std::size_t i = 0; i < means.size(); ++i) {
      if (!parallel_.has_gradient(masters_[i].first)) continue;
      Tensor clipped = factor.is_defined() ? mul(means[i], factor) : means[i];
      set_grad(partition_.pieces()[i].master, converted(clipped, master_dtype(config_)));
    }
    means.clear();
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (groups_.needs_whole[i] && parallel_.has_gradient(parameters_[i].first)) step_parameter(i);
    optimizer_->step();
    optimizer_->zero_grad();
    return result;
  }

  // Returns the mean gradient of each piece.
  std::vector<Tensor> means_of(double loss_scale) const {
    std::vector<Tensor> means;
    for (const OwnedPiece& piece : partition_.pieces()) means.push_back(mean_of(piece, loss_scale));
    return means;
  }

  Tensor squares_of(const std::vector<Tensor>& means) const {
    std::vector<Tensor> counted;
    for (std::size_t i = 0; i < means.size(); ++i)
      if (parallel_.is_counted(masters_[i].first)) counted.push_back(means[i]);
    return sharded_squares(counted, group_);
  }

  // Makes the step of a parameter that the optimiser needs whole.
  void step_parameter(std::size_t parameter) {
    WholePiece whole{.shape = parameters_[parameter].second.shape(),
                     .dtype = master_dtype(config_)};
    if (const OwnedPiece* piece = partition_.piece_of(parameter)) {
      whole.master = piece->master;
      whole.first = piece->first;
    }
    step_whole(*optimizer_, whole, group_);
  }

  Tensor mean_of(const OwnedPiece& piece, double loss_scale) const {
    Ledger::Category category(MemoryCategory::gradient);
    if (!piece.gradient.is_defined()) return zeros({piece.count}, DType::float32);
    Tensor wide = converted(piece.gradient, DType::float32);
    return config_.loss_scaler() ? div(wide, loss_scale) : wide;
  }

  // Copies the masters of all ranks to the parameters: one all-gather a group.
  void publish() {
    for (FlatGroup& group : partition_.groups()) {
      Tensor flat;
      {
        Ledger::Category category(MemoryCategory::communication);
        flat = converted(group.master.detach(), group.dtype);
        if (group_.size() > 1) flat = all_gather(flat, {.dim = 0}, group_);
      }
      for (std::size_t i = 0; i < group.parameters.size(); ++i) {
        Tensor target = parameters_[group.parameters[i]].second.detach();
        copy_(target,
              flat.narrow({0, group.layout.offset(i), group.layout.size(i)}).view(target.shape()));
      }
    }
  }

  // A parameter without elements, such as a rank's piece of one that is cut over few rows, has what
  // others have: no rank owns a piece of it that would say.
  Tensor state_without_elements(std::size_t parameter, const std::string& key) const {
    NoGrad mode;
    const std::vector<Tensor>& optimized = optimizer_->parameters();
    std::int64_t found = 0;
    for (std::size_t i = 0; i < optimized.size() && found == 0; ++i)
      if (auto state = optimizer_->state(i).find(key); state != optimizer_->state(i).end())
        found = state->second.shape() == optimized[i].shape() ? 1 : 0;
    Tensor own = zeros({found}, DType::float32);
    if (group_.size() > 1) own = flattened(all_gather_list(own, group_), DType::float32);
    if (own.numel() == 0) return {};
    return zeros(parameters_[parameter].second.shape(), DType::float32);
  }

  // Returns a whole tensor from the pieces of all ranks, in the order of the ranks.
  Tensor whole(std::size_t parameter, const Tensor& own) const {
    NoGrad mode;
    const Tensor& like = parameters_[parameter].second;
    Tensor piece =
        own.is_defined() ? converted(own.contiguous(), DType::float32) : zeros({0}, DType::float32);
    std::vector<Tensor> pieces =
        group_.size() > 1 ? all_gather_list(piece, group_) : std::vector<Tensor>{piece};
    if (Tensor uncut = uncut_state(pieces); uncut.is_defined()) return uncut;
    Tensor flat = flattened(pieces, DType::float32);
    return flat.numel() == like.numel() ? flat.view(like.shape()) : Tensor();
  }

  Config config_;
  ProcessGroup group_;
  ModelParallel parallel_;
  std::vector<nn::NamedTensor> parameters_;
  OptimizerGroups groups_;
  FlatPartition partition_;
  FlatGradients gradients_;
  // Sums of earlier micro-batches, in stage 1 with another grad_accum_dtype; by parameter.
  std::vector<Tensor> kept_;
  std::vector<nn::NamedTensor> masters_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  bool reduces_ = false;  // in the backward pass that runs
  std::shared_ptr<FlatStage*> self_ = std::make_shared<FlatStage*>(this);  // hooks refer to it
};

}  // namespace

std::unique_ptr<Stage> make_flat_stage(const StageSetup& setup) {
  return std::make_unique<FlatStage>(setup);
}

}  // namespace simmesh::zero
