#include "zero/stage3/sharded_optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "collectives/collectives.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/optim/clip.h"
#include "core/tensor/convert.h"
#include "core/tensor/scalar_value.h"
#include "zero/engine/master_dtype.h"
#include "zero/engine/norm.h"
#include "zero/engine/whole_step.h"
#include "zero/fetch/collective_record.h"
#include "zero/stage3/shard_layout.h"

namespace simmesh::zero {

namespace {

// Returns the value that the host reads; 0 in a world of shapes only.
double host_value(const Tensor& scalar) {
  Ledger::Uncharged host;
  return known_scalar(scalar, "the norm of the gradients").value_or(0.0);
}

}  // namespace

ShardedOptimizer::ShardedOptimizer(PartitionedParams& params, const StageSetup& setup)
    : params_(params),
      parallel_(setup.parallel),
      scales_loss_(setup.config.loss_scaler().has_value()),
      master_dtype_(master_dtype(setup.config)),
      checks_overflow_(!setup.config.bf16.enabled || setup.config.bf16.check_grad_overflow),
      clip_(setup.config.gradient_clipping) {
  make_tiles(setup);
  std::vector<std::int64_t> numels;
  for (const std::vector<ParamId>& tile : tiles_) {
    std::int64_t& numel = numels.emplace_back(0);
    for (ParamId id : tile) numel += params_[id].shard_numel();
  }
  offload_ = std::make_unique<TileOffload>(setup.config, std::move(numels));
  make_masters();
  optimizer_ = setup.make_optimizer(masters_);
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) offload_->end(tile, kept_of(tile));
}

// An optimiser of the shards tells which groups there are.
void ShardedOptimizer::make_tiles(const StageSetup& setup) {
  std::vector<nn::NamedTensor> parts;
  for (std::size_t i = 0; i < params_.size(); ++i) {
    const PartitionedParam& param = params_[ParamId(i)];
    Tensor part = param.own_part();
    set_requires_grad(part, param.requires_grad());
    parts.emplace_back(param.name(), part);
  }
  std::unique_ptr<optim::Optimizer> optimizer = setup.make_optimizer(parts);
  const std::vector<Tensor>& trained = optimizer->parameters();
  std::vector<std::vector<std::size_t>> members(optimizer->learning_rates().size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].second.requires_grad()) continue;
    for (std::size_t j = 0; j < trained.size(); ++j)
      if (nn::is_same_tensor(trained[j], parts[i].second))
        members[optimizer->group_of(j)].push_back(i);
  }
  std::vector<std::int64_t> shards;
  for (std::size_t i = 0; i < params_.size(); ++i)
    shards.push_back(params_[ParamId(i)].shard_numel());
  std::int64_t size = setup.config.zero_optimization.sub_group_size;
  for (const Tile& tile : optimizer_tiles(members, shards, size))
    tiles_.emplace_back(tile.parameters.begin(), tile.parameters.end());
}

void ShardedOptimizer::make_masters() {
  std::vector<bool> is_offloaded(params_.size(), false);
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile)
    for (ParamId id : tiles_[tile]) is_offloaded[std::size_t(id)] = offload_->is_offloaded(tile);
  Ledger::Category category(MemoryCategory::optimizer_state);
  for (std::size_t i = 0; i < params_.size(); ++i) {
    const PartitionedParam& param = params_[ParamId(i)];
    Tensor master = param.own_part();
    Ledger::Uncharged host(is_offloaded[i]);
    param.fetch_shard();
    if (param.requires_grad() && param.dtype() != master_dtype_)
      master = converted(master, master_dtype_).clone();
    set_requires_grad(master, param.requires_grad());
    masters_.emplace_back(param.name(), master);
    param.park_shard();
  }
}

// Returns the tensors that are moved away between steps: masters that aren't the shards themselves,
// and state.
std::vector<Tensor> ShardedOptimizer::kept_of(std::size_t tile) const {
  std::vector<Tensor> kept;
  if (tile >= tiles_.size()) return kept;
  const std::vector<Tensor>& trained = optimizer_->parameters();
  for (ParamId id : tiles_[tile]) {
    const Tensor& master = masters_[std::size_t(id)].second;
    if (master.storage() != params_[id].shard().storage()) kept.push_back(master);
    for (std::size_t i = 0; i < trained.size(); ++i)
      if (nn::is_same_tensor(trained[i], master))
        for (const auto& [key, tensor] : optimizer_->state(i)) kept.push_back(tensor);
  }
  return kept;
}

void ShardedOptimizer::bring_back() {
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) offload_->bring_back(kept_of(tile));
  for (std::size_t i = 0; i < params_.size(); ++i) params_[ParamId(i)].fetch_shard();
}

// A parameter without a gradient counts as zeros.
Tensor ShardedOptimizer::gradient_of(ParamId param, const GradientShards& gradients,
                                     double loss_scale) const {
  const Tensor& shard = gradients.of(param);
  if (!shard.is_defined()) return zeros({params_[param].own_numel()}, DType::float32);
  Tensor wide = converted(shard.detach(), DType::float32);
  return scales_loss_ ? div(wide, loss_scale) : wide;
}

// Used with float16 only, where an overflow is expected now and then.
bool ShardedOptimizer::has_overflow(const GradientShards& gradients) const {
  const ProcessGroup& group = params_.groups().all;
  std::vector<Tensor> shards;
  for (std::size_t i = 0; i < params_.size(); ++i)
    if (const Tensor& shard = gradients.of(ParamId(i)); shard.is_defined())
      shards.push_back(shard.detach());
  if (group.size() > 1)
    record_collective("all_reduce", empty_meta(Dims{1}, DType::uint8), group, group);
  return !are_all_finite(shards, group);
}

// The square sums of tiles are added up unrounded in exact arithmetic, so that the norm doesn't
// depend on how elements are distributed over tiles and ranks.
Tensor ShardedOptimizer::squares(const GradientShards& gradients, double loss_scale) const {
  const ProcessGroup& group = params_.groups().all;
  KeepUnrounded scope;
  Tensor total = zeros(DimSpan(), DType::float64);
  for (const std::vector<ParamId>& tile : tiles_) {
    std::vector<Tensor> parts;
    for (ParamId id : tile)
      if (parallel_.is_counted(params_[id].name()))
        parts.push_back(gradient_of(id, gradients, loss_scale));
    Tensor sum = optim::power_sum(parts, 2.0);
    if (group.size() > 1) {
      Tensor one = sum.view(Dims{1});
      record_collective("all_reduce", one, group, group);
      sum = all_reduce(one, ReduceOp::sum, group).view(DimSpan());
    }
    total = add(total, sum);
  }
  return total;
}

// Makes the steps of the parameters of a tile that the optimiser needs whole.
void ShardedOptimizer::step_whole_ones(const std::vector<ParamId>& tile) {
  const ProcessGroup& group = params_.groups().all;
  const std::vector<Tensor>& trained = optimizer_->parameters();
  for (ParamId id : tile) {
    const Tensor& master = masters_[std::size_t(id)].second;
    if (!parallel_.has_gradient(params_[id].name())) continue;
    auto is_master = [&](const Tensor& one) { return nn::is_same_tensor(one, master); };
    auto found = std::find_if(trained.begin(), trained.end(), is_master);
    if (found == trained.end() || !optimizer_->needs_whole(std::size_t(found - trained.begin())))
      continue;
    ShardLayout layout{.numel = params_[id].numel(), .ranks = group.size()};
    step_whole(*optimizer_,
               {params_[id].shape(), master_dtype_, master, layout.begin(group.rank())}, group);
  }
}

void ShardedOptimizer::step_tile(std::size_t index, const GradientShards& gradients,
                                 double loss_scale, const Tensor& factor) {
  const std::vector<ParamId>& tile = tiles_[index];
  Ledger::Uncharged host(offload_->is_offloaded(index));
  offload_->begin(index, kept_of(index), kept_of(index + 1));
  for (ParamId id : tile) params_[id].prefetch_shard();
  for (ParamId id : tile) params_[id].fetch_shard();
  for (ParamId id : tile) {
    if (!parallel_.has_gradient(params_[id].name())) continue;
    Tensor gradient = gradient_of(id, gradients, loss_scale);
    Tensor clipped = factor.is_defined() ? mul(gradient, factor) : gradient;
    set_grad(masters_[std::size_t(id)].second, converted(clipped, master_dtype_));
  }
  step_whole_ones(tile);
  optimizer_->step();
  for (ParamId id : tile) {
    Tensor& master = masters_[std::size_t(id)].second;
    set_grad(master, Tensor());
    Tensor own = params_[id].own_part();
    if (own.storage() != master.storage()) copy_(own, converted(master.detach(), own.dtype()));
  }
  offload_->end(index, kept_of(index));
  for (ParamId id : tile) params_[id].park_shard();
}

StepResult ShardedOptimizer::step(const GradientShards& gradients, double loss_scale) {
  NoGrad mode;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (scales_loss_ && has_overflow(gradients)) return {false, false, infinity};
  Tensor norm = norm_of_squares(parallel_.squares_of_all(squares(gradients, loss_scale)));
  double value = host_value(norm);
  if (checks_overflow_ && !std::isfinite(value)) return {false, false, infinity};
  Tensor factor;
  if (clip_ > 0) factor = clip_factor(norm, clip_);
  for (std::size_t i = 0; i < tiles_.size(); ++i) step_tile(i, gradients, loss_scale, factor);
  return {true, true, value};
}

void ShardedOptimizer::refresh(ParamId param) {
  NoGrad mode;
  bring_back();
  Tensor master = masters_[std::size_t(param)].second.detach();
  Tensor own = params_[param].own_part();
  if (own.storage() != master.storage()) copy_(master, converted(own, master.dtype()));
}

void ShardedOptimizer::masters_changed() {
  NoGrad mode;
  bring_back();
  for (std::size_t i = 0; i < params_.size(); ++i) {
    Tensor own = params_[ParamId(i)].own_part();
    const Tensor& master = masters_[i].second;
    if (own.storage() != master.storage()) copy_(own, converted(master.detach(), own.dtype()));
  }
}

std::int64_t ShardedOptimizer::master_bytes() const {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < masters_.size(); ++i)
    if (masters_[i].second.storage() != params_[ParamId(i)].shard().storage())
      bytes += std::int64_t(masters_[i].second.bytes());
  return bytes;
}

std::int64_t ShardedOptimizer::state_bytes() const { return zero::state_bytes(*optimizer_); }

}  // namespace simmesh::zero
