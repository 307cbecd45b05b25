#include "training/fsdp_plan.h"

#include <algorithm>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/tensor/chunk.h"
#include "core/tensor/convert.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

namespace {

fsdp::ReshardAfterForward reshard_of(const PlainValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return {};
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* ranks = std::get_if<std::int64_t>(&value)) return *ranks;
  raise(ErrorKind::value_error, "training/fsdp_plan",
        "reshard_after_forward should be a bool or an int, got a value of another type");
}

// A value other than a dim stands for a shard_placement_fn whose result isn't a Shard.
Placement placement_of(const PlainValue& value) {
  const auto* dim = std::get_if<std::int64_t>(&value);
  return dim ? Shard(*dim) : Replicate();
}

}  // namespace

DeviceMesh MeshPlan::whole() const { return init_device_mesh(shape, names); }

namespace {

// Returns some dims of a mesh as one, in the order of the mesh.
DeviceMesh joined_dims(const DeviceMesh& whole, const std::vector<std::string>& order,
                       const std::vector<std::string>& dims) {
  std::vector<std::string> sorted;
  for (const std::string& name : order)
    if (std::find(dims.begin(), dims.end(), name) != dims.end()) sorted.push_back(name);
  DeviceMesh part = whole[DimNames(sorted)];
  return sorted.size() > 1 ? part.flatten() : part;
}

}  // namespace

DeviceMesh MeshPlan::used(const DeviceMesh& whole) const {
  DeviceMesh shards = use.empty() ? whole : whole[DimNames(use)];
  if (!shard.empty()) {
    std::vector<std::string> sharding = shard;
    sharding.push_back(use.back());
    shards = joined_dims(whole, names, sharding);
    if (use.size() > 1) shards = DeviceMesh::concatenate({whole[use.front()], shards});
  }
  if (replicate.empty()) return shards;
  return DeviceMesh::concatenate({joined_dims(whole, names, replicate), shards});
}

Tensor shard_part(const Tensor& whole, std::int64_t dim, std::int64_t parts, std::int64_t index) {
  Chunk chunk = chunk_of({.size = whole.size(dim), .parts = parts, .index = index});
  return whole.narrow({dim, chunk.start, chunk.length}).contiguous();
}

ShardedModel::ShardedModel(const FsdpPlan& plan)
    : plan_(&plan),
      own_(plan.on_meta ? build_meta_model(plan.model) : build_model(plan.model)),
      model_(own_.get()) {
  if (plan.mesh) mesh_ = plan.mesh->whole();
  convert();
  distribute();
}

ShardedModel::ShardedModel(const FsdpPlan& plan, nn::Module& model) : plan_(&plan), model_(&model) {
  if (plan.mesh) mesh_ = plan.mesh->whole();
  convert();
  distribute();
}

void shard_model(const FsdpPlan& plan, nn::Module& model) { ShardedModel(plan, model).wrap_all(); }

void ShardedModel::convert() {
  auto replace = [&](const std::string& name, const Tensor& data) {
    SlotPath slot = find_slot(*model_, name);
    bool wants = slot.tensor().requires_grad();
    Tensor made = data;
    set_requires_grad(made, wants);
    slot.module->set_parameter(slot.name, made);
  };
  for (const auto& [name, dtype] : plan_->dtypes)
    replace(name, converted(find_slot(*model_, name).tensor().detach(), dtype));
  for (const std::string& name : plan_->transposed)
    replace(name, find_slot(*model_, name).tensor().detach().transpose(0, 1));
}

void ShardedModel::distribute() {
  auto place = [&](const std::string& name, const DeviceMesh& mesh, const Placements& placements) {
    SlotPath slot = find_slot(*model_, name);
    DTensor value =
        distribute_tensor(slot.tensor().detach(), mesh, placements, {.from_first_rank = false});
    if (slot.tensor().requires_grad()) value.set_requires_grad();
    slot.module->set_parameter(slot.name, value.as_tensor());
  };
  for (const auto& [name, dim] : plan_->tensor_parallel)
    place(name, (*mesh_)["tp"], {dim ? Shard(*dim) : Replicate()});
  for (const auto& [name, placements] : plan_->spmd) place(name, *mesh_, placements);
}

fsdp::FullyShardOptions ShardedModel::options_of(const WrapPlan& wrap) const {
  fsdp::FullyShardOptions options{.mesh = plan_->mesh->used(*mesh_),
                                  .reshard_after_forward = reshard_of(wrap.reshard_after_forward),
                                  .mp_policy = wrap.mp_policy,
                                  .dp_mesh_dims = wrap.dp_mesh_dims};
  if (plan_->offload) options.offload_policy.emplace();
  for (const std::string& name : wrap.ignored)
    if (Tensor parameter = find_slot(*model_, name).tensor(); parameter.is_defined())
      options.ignored_params.push_back(parameter);
  std::map<std::string, fsdp::ShardPlacementResult> results;
  for (const auto& [name, dim] : wrap.shard_dims) results[name].placement = placement_of(dim);
  const MeshPlan* last = nullptr;
  std::optional<DeviceMesh> used;
  for (const auto& [name, mesh] : wrap.param_mesh) {
    if (!find_slot(*model_, name).tensor().is_defined()) continue;
    if (!last || !(*last == mesh)) used = mesh.used(mesh.whole());
    last = &mesh;
    results[name].mesh = used;
  }
  std::vector<std::pair<Tensor, fsdp::ShardPlacementResult>> chosen;
  for (const auto& [name, result] : results)
    if (Tensor parameter = find_slot(*model_, name).tensor(); parameter.is_defined())
      chosen.emplace_back(parameter, result);
  if (chosen.empty()) return options;
  options.shard_placement_fn =
      [chosen](const Tensor& parameter) -> std::optional<fsdp::ShardPlacementResult> {
    for (const auto& [tensor, result] : chosen)
      if (nn::is_same_tensor(tensor, parameter)) return result;
    return std::nullopt;
  };
  return options;
}

void ShardedModel::wrap(std::size_t index) {
  const WrapPlan& wrap = plan_->wraps[index];
  std::vector<nn::Module*> modules;
  for (const std::string& name : wrap.modules) modules.push_back(&model_->find(name));
  if (modules.size() == 1 && !wrap.as_list)
    fsdp::fully_shard(*modules.front(), options_of(wrap));
  else
    fsdp::fully_shard(modules, options_of(wrap));
}

void ShardedModel::wrap_all() {
  for (std::size_t i = 0; i < plan_->wraps.size(); ++i) wrap(i);
}

}  // namespace simmesh
