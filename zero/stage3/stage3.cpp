#include "zero/stage3/stage3.h"

#include <algorithm>

#include "collectives/collectives.h"
#include "core/autograd/saved_tensor.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/tensor/convert.h"
#include "core/tensor/known_tensor.h"
#include "zero/engine/lower_dtypes.h"
#include "zero/stage3/leaf_modules.h"
#include "zero/stage3/module_state.h"
#include "zero/stage3/shard_layout.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view stage3_source = "zero/stage3";

nn::Module& with_leaves(nn::Module& module, const ZeroOptimization& zero) {
  set_z3_leaf_modules(module, zero.leaf_module);
  set_z3_leaf_modules_by_granularity(module, zero.module_granularity_threshold);
  return module;
}

// Returns a parameter that zero::Init has partitioned already; null for none.
std::shared_ptr<PartitionedParam> initialized(const ModuleIndex::Param& param) {
  for (const PartitionedParam::Place& place : param.places) {
    ModuleState* state = ModuleState::find(*place.module);
    if (!state) continue;
    for (auto& made : state->initialized)
      if (made && nn::is_same_tensor(made->leaf(), param.tensor)) return std::exchange(made, {});
  }
  return nullptr;
}

// Gradients are quantised between nodes only: the small groups of hpZ count as nodes.
std::optional<NodeGroups> quantizing_nodes(const ProcessGroup& group,
                                           const ZeroOptimization& zero) {
  std::int64_t node = zero.zero_hpz_partition_size;
  bool has_nodes = node > 1 && node < group.size() && group.size() % node == 0;
  if (!zero.zero_quantized_gradients || !zero.reduce_scatter || !has_nodes) return std::nullopt;
  return NodeGroups::of(group, node);
}

// Moves the shards to the device of offload_param.
void offload(PartitionedParams& params, const Config& config) {
  const std::optional<OffloadParam>& options = config.zero_optimization.offload_param;
  if (!is_offloaded(options)) return;
  PartitionedParams::OffloadTo to{.file_bytes_min = config.aio.file_bytes_min(),
                                  .buffers = options->buffer_count,
                                  .buffer_numel = options->buffer_size};
  if (options->device == OffloadDevice::nvme)
    to.store = std::make_shared<FileStore>(FileStore::Options{
        .folder = options->nvme_path.value_or("."), .buffer_count = options->buffer_count});
  params.offload(to);
}

std::unique_ptr<PartitionedParams> partitioned(const ModuleIndex& index, const ProcessGroup& group,
                                               const Config& config) {
  NoGrad mode;
  const ZeroOptimization& zero = config.zero_optimization;
  PartitionGroups groups = PartitionGroups::of(group, zero.zero_hpz_partition_size);
  std::vector<std::shared_ptr<PartitionedParam>> params;
  for (const ModuleIndex::Param& param : index.params()) {
    std::shared_ptr<PartitionedParam> made = initialized(param);
    if (!made) made = std::make_shared<PartitionedParam>(param.name, param.tensor, groups);
    made->set_name(param.name);
    for (const PartitionedParam::Place& place : param.places)
      if (auto lower = lower_dtype(*place.module, config.torch_autocast))
        made->set_lower_dtype(lower);
    made->register_at(param.places);
    params.push_back(std::move(made));
  }
  GatherOptions options{.one_by_one = zero.allgather_sequential,
                        .by_all_reduce = zero.use_all_reduce_for_fetch_params,
                        .lowers = true,
                        .quantizes_all = zero.zero_quantized_weights,
                        .quantizes_frozen = zero.zero_quantized_nontrainable_weights};
  return std::make_unique<PartitionedParams>(std::move(params), groups, options);
}

}  // namespace

Stage3::Stage3(const StageSetup& setup, const DeepSpeedFaults& faults)
    : group_(setup.group),
      parallel_(setup.parallel),
      index_(with_leaves(setup.module, setup.config.zero_optimization), setup.parallel),
      checks_changes_(setup.config.zero_optimization.enable_sanity_checks) {
  const ZeroOptimization& zero = setup.config.zero_optimization;
  index_.mark_persistent(zero.param_persistence_threshold, zero.model_persistence_threshold);
  bool has_optimizer = bool(setup.make_optimizer);
  FetchGraph graph = index_.graph(group_.size());
  params_ = partitioned(index_, group_, setup.config);
  for (std::size_t i = 0; i < params_->size(); ++i)
    index_.params()[i].tensor = (*params_)[ParamId(i)].leaf();
  offload(*params_, setup.config);
  FetchSettings settings = FetchSettings::of(zero, has_optimizer);
  settings.faults = faults;
  coordinator_ = std::make_unique<Coordinator>(std::move(graph), settings, *params_);
  gradients_ = std::make_unique<GradientShards>(
      *params_, ReduceSettings{.bucket_size = zero.reduce_bucket_size,
                               .reduce_scatter = zero.reduce_scatter,
                               .overlaps = zero.overlaps(),
                               .averages = !setup.config.sum_gradients,
                               .quantizing_nodes = quantizing_nodes(group_, zero),
                               .communication = setup.config.torch_autocast.enabled
                                                    ? std::nullopt
                                                    : setup.config.communication_data_type,
                               .accumulation = setup.config.data_types.grad_accum_dtype,
                               .is_offloaded = is_offloaded(zero.offload_optimizer)});
  if (has_optimizer) optimizer_ = std::make_unique<ShardedOptimizer>(*params_, setup);
}

Stage3::~Stage3() = default;

void Stage3::attach(std::shared_ptr<void> hooks, std::function<void()> end_backward) {
  hooks_ = std::move(hooks);
  end_backward_ = std::move(end_backward);
}

void Stage3::register_external(ModuleId module, ParamId param, bool returned) {
  coordinator_->register_external(module, param, returned);
  gather({param});
}

void Stage3::unregister_external(ModuleId module, ParamId param) {
  coordinator_->unregister_external(module, param);
}

void Stage3::add_gradient(ParamId param, Tensor gradient) {
  if (is_observed()) emit({.kind = EventKind::gradient, .params = {param}});
  gradients_->add(param, std::move(gradient));
}

void Stage3::end_gradients() {
  if (is_observed()) emit({.kind = EventKind::gradients_end});
  gradients_->flush();
}

void Stage3::gather(const std::vector<ParamId>& ids) {
  std::vector<ParamId> missing;
  for (ParamId id : ids) {
    coordinator_->wait_for(id);
    if (coordinator_->status(id) == ParamStatus::not_available) missing.push_back(id);
  }
  params_->gather_blocking(missing);
  for (ParamId id : missing) coordinator_->gathered_elsewhere(id);
  if (!missing.empty() && is_observed()) emit({.kind = EventKind::blocking, .params = missing});
}

void Stage3::open_scope(const std::vector<ParamId>& ids) {
  scoped_.resize(params_->size());
  for (ParamId id : ids)
    if (scoped_[std::size_t(id)])
      raise(ErrorKind::runtime_error, "zero/gathered_parameters",
            "expected a parameter that no other scope holds, got {}", (*params_)[id].name());
  for (ParamId id : ids)
    scoped_[std::size_t(id)] =
        Scoped{.is_gathered = coordinator_->status(id) == ParamStatus::not_available};
  gather(ids);
  for (ParamId id : ids)
    scoped_[std::size_t(id)]->changes = (*params_)[id].leaf().storage()->changes();
}

// Without a modifier rank no rank may have changed anything.
void Stage3::refuse_changes(const std::vector<ParamId>& ids) const {
  std::string changed;
  for (ParamId id : ids)
    if ((*params_)[id].leaf().storage()->changes() != scoped_[std::size_t(id)]->changes)
      changed = (*params_)[id].name();
  Tensor flag = full({1}, DType::uint8, changed.empty() ? 0.0 : 1.0);
  if (group_.size() > 1) flag = all_reduce(flag, ReduceOp::max, group_);
  flag = known_tensor(flag, "changes of gathered parameters");
  if (flag.has_elements() && flag.values<std::uint8_t>()[0] != 0)
    raise(ErrorKind::runtime_error, "zero/gathered_parameters",
          "expected no change of a gathered parameter without a modifier_rank, got one {}",
          changed.empty() ? "on another rank" : "of " + changed);
}

void Stage3::close_scope(const std::vector<ParamId>& ids,
                         std::optional<std::int64_t> modifier_rank) {
  NoGrad mode;
  if (!modifier_rank && checks_changes_) refuse_changes(ids);
  for (ParamId id : ids) {
    if (!modifier_rank) continue;
    PartitionedParam& param = (*params_)[id];
    Tensor values = param.leaf().detach();
    if (group_.size() > 1) {
      PreservedVersion same_use(values);
      copy_(values, broadcast(values, *modifier_rank, group_));
    }
    param.update_shard();
    if (optimizer_) optimizer_->refresh(id);
  }
  abandon_scope(ids);
}

void Stage3::abandon_scope(const std::vector<ParamId>& ids) {
  for (ParamId id : ids) {
    bool is_gathered = scoped_[std::size_t(id)]->is_gathered;
    scoped_[std::size_t(id)].reset();
    if (!is_gathered) continue;
    coordinator_->released_elsewhere(id);
    params_->release(id);
  }
}

void Stage3::before_backward(bool) {}

void Stage3::after_backward() {
  if (end_backward_) end_backward_();
  end_gradients();
  coordinator_->end_backward();
}

StepResult Stage3::step(double loss_scale) {
  if (!optimizer_)
    raise(ErrorKind::runtime_error, stage3_source, "expected an optimizer to step, got none");
  coordinator_->release_all();
  StepResult result = optimizer_->step(*gradients_, loss_scale);
  gradients_->clear();
  if (!result.is_applied) return result;
  params_->drop_secondaries();
  gather_persistent();
  return result;
}

Tensor Stage3::squares(double loss_scale) {
  NoGrad mode;
  return optimizer_->squares(*gradients_, loss_scale);
}

void Stage3::gather_persistent() {
  std::vector<ParamId> persistent;
  for (std::size_t i = 0; i < index_.params().size(); ++i)
    if (index_.params()[i].is_persistent) persistent.push_back(ParamId(i));
  gather(persistent);
  for (ParamId id : persistent) (*params_)[id].discard_shard();
}

const std::vector<nn::NamedTensor>& Stage3::masters() const {
  static const std::vector<nn::NamedTensor> none;
  return optimizer_ ? optimizer_->masters() : none;
}

optim::Optimizer& Stage3::optimizer() const {
  if (!optimizer_)
    raise(ErrorKind::runtime_error, stage3_source, "expected an optimizer, got none");
  return optimizer_->optimizer();
}

// Shards come with their padding, so that all have one size.
Tensor Stage3::whole_of(std::size_t parameter, const Tensor& own) const {
  NoGrad mode;
  const PartitionedParam& param = (*params_)[ParamId(parameter)];
  Tensor padded = zeros({param.shard_numel()}, own.dtype());
  Tensor part = padded.narrow({0, 0, param.own_numel()});
  copy_(part, own.detach());
  Tensor whole = group_.size() == 1 ? padded : all_gather(padded, {.dim = 0}, group_);
  return whole.narrow({0, 0, param.numel()}).contiguous().view(param.shape());
}

std::vector<MasterShard> Stage3::master_shards() {
  std::vector<MasterShard> shards;
  if (!optimizer_) return shards;
  optimizer_->bring_back();
  for (std::size_t i = 0; i < params_->size(); ++i) {
    const PartitionedParam& param = (*params_)[ParamId(i)];
    ShardLayout layout{.numel = param.numel(), .ranks = group_.size()};
    shards.push_back({i, layout.begin(group_.rank()), layout.end(group_.rank())});
  }
  return shards;
}

void Stage3::masters_changed() {
  coordinator_->release_all();
  optimizer_->masters_changed();
  params_->drop_secondaries();
  gather_persistent();
}

Tensor Stage3::full_fp32_param(std::size_t parameter) {
  if (optimizer_) optimizer_->bring_back();
  const Tensor& master = masters()[parameter].second;
  return whole_of(parameter, converted(master.detach(), DType::float32));
}

Tensor Stage3::full_optimizer_state(std::size_t parameter, const std::string& key) {
  if (optimizer_) optimizer_->bring_back();
  const std::vector<Tensor>& trained = optimizer().parameters();
  for (std::size_t i = 0; i < trained.size(); ++i) {
    if (!nn::is_same_tensor(trained[i], masters()[parameter].second)) continue;
    auto found = optimizer().state(i).find(key);
    if (found == optimizer().state(i).end()) return {};
    bool is_cut = found->second.shape() == trained[i].shape();
    return is_cut ? whole_of(parameter, found->second) : found->second;
  }
  return {};
}

Tensor Stage3::full_grad(std::size_t parameter) {
  const PartitionedParam& param = (*params_)[ParamId(parameter)];
  if (!param.requires_grad() || !parallel_.has_gradient(param.name())) return {};
  const Tensor& shard = gradients_->of(ParamId(parameter));
  if (!shard.is_defined()) return whole_of(parameter, zeros({param.own_numel()}, DType::float32));
  return whole_of(parameter, converted(shard.detach(), DType::float32));
}

MemoryUse Stage3::memory_use() const {
  MemoryUse use{.gradients = gradients_->shard_bytes(), .buckets = gradients_->bucket_bytes()};
  if (optimizer_) {
    use.master = optimizer_->master_bytes();
    use.moments = optimizer_->state_bytes();
  }
  for (std::size_t i = 0; i < params_->size(); ++i) {
    const PartitionedParam& param = (*params_)[ParamId(i)];
    use.shards += std::int64_t(param.shard().bytes());
    if (param.secondary().is_defined()) use.shards += std::int64_t(param.secondary().bytes());
    if (param.is_whole() && index_.params()[i].is_persistent)
      use.persistent += std::int64_t(param.leaf().bytes());
  }
  use.live = gathered_bytes() - use.persistent;
  return use;
}

}  // namespace simmesh::zero
