#include "gate/tables/expert.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/join_text.h"
#include "gate/tables/model.h"

namespace simmesh {

namespace {

using DimList = std::vector<std::string>;

bool has_dim(const DimList& dims, const std::string& name) {
  return std::find(dims.begin(), dims.end(), name) != dims.end();
}

// Returns the dims over which experts are sharded.
DimList dims_of_experts(const GateExpert& expert, const GateFsdp& fsdp) {
  DimList dims = fsdp.mesh;
  std::erase(dims, expert.mesh);
  return dims;
}

std::int64_t shards_of_experts(const GateExpert& expert, const GateFsdp& fsdp,
                               const GateLayout& layout) {
  DimList dims = dims_of_experts(expert, fsdp);
  std::int64_t shards = dims.empty() ? 1 : layout.shape[layout.index_of(dims.back())];
  if (!fsdp.sequence_dim.empty() && fsdp.sequence_dim != expert.mesh)
    shards *= layout.shape[layout.index_of(fsdp.sequence_dim)];
  return shards;
}

// Refuses single experts: ranks without rows for an expert don't call it, so they would not gather
// it either.
void check_wrap(const GateTable& table, const GateFsdp& fsdp, nn::Module& shapes) {
  for (const DimList& call : fsdp.modules)
    for (const std::string& name : call)
      if (is_expert_parameter(shapes, name))
        table.reject_value("mesh", "no single expert in fsdp.wrap", "'" + name + "'");
}

void check_reshard(const GateTable& table, const GateFsdp& fsdp, std::int64_t shards) {
  const auto* ranks = std::get_if<std::int64_t>(&fsdp.reshard_after_forward);
  if (ranks && shards % *ranks != 0)
    table.reject_value(
        "mesh",
        fmt::format("a fsdp.reshard_after_forward that divides the {} shards of experts", shards),
        std::to_string(*ranks));
}

std::string owner_dim(const DimList& names) {
  return fmt::format("{}_owner", join_text(names, "_"));
}

// Returns the dim of one rank.
MeshPlan own_rank(const MeshPlan& mesh) {
  DimList names = mesh.names;
  std::string last = names.back();
  names.pop_back();
  if (!names.empty() && last == owner_dim(names)) return {mesh.shape, mesh.names, {last}};
  GateLayout larger = owner_layout({mesh.shape, mesh.names});
  return {larger.shape, larger.names, {larger.names.back()}};
}

// Returns the dims over which experts are sharded, with those of sequences.
MeshPlan mesh_of_experts(const GateExpert& expert, const GateFsdp& fsdp, const MeshPlan& whole) {
  MeshPlan mesh{whole.shape, whole.names, dims_of_experts(expert, fsdp)};
  if (!fsdp.sequence_dim.empty() && fsdp.sequence_dim != expert.mesh)
    (mesh.use.empty() ? mesh.use : mesh.shard).push_back(fsdp.sequence_dim);
  return mesh.use.empty() ? own_rank(whole) : mesh;
}

// True if a call of fully_shard is on a module that a parameter is in.
bool holds(const WrapPlan& wrap, const std::string& name) {
  return std::any_of(wrap.modules.begin(), wrap.modules.end(), [&](const std::string& module) {
    return module.empty() || name.starts_with(module + ".");
  });
}

void replicate_over(const std::string& dim, const GateLayout& layout, MeshPlan& mesh) {
  if (has_dim(mesh.use, dim) || has_dim(mesh.shard, dim)) return;
  std::string shard = mesh.use.back();
  for (const std::string& name : layout.names)
    if (name != shard && (name == dim || has_dim(mesh.use, name))) mesh.replicate.push_back(name);
  mesh.use = {shard};
}

}  // namespace

GateExpert read_gate_expert(GateTable& table, const GateLayout& layout, const nn::ModelNode& model,
                            const GateFsdp* fsdp) {
  GateExpert expert{table.word("mesh", layout.names.back(), layout.names)};
  expert.tensor_parallel = table.boolean("tensor_parallel", expert.tensor_parallel);
  table.finish();
  if (!has_kind(model, "moe")) table.reject_value("mesh", "a model with experts", "one without");
  if (!fsdp) return expert;
  if (!fsdp->modules.empty())
    check_wrap(table, *fsdp, *nn::build(model, {.device = nn::Device::meta}));
  check_reshard(table, *fsdp, shards_of_experts(expert, *fsdp, layout));
  return expert;
}

std::string expert_entry(const GateExpert& expert) {
  return fmt::format("{{ mesh = \"{}\"{} }}", expert.mesh,
                     expert.tensor_parallel ? "" : ", tensor_parallel = false");
}

GateLayout owner_layout(const GateLayout& layout) {
  GateLayout larger = layout;
  larger.shape.push_back(1);
  larger.names.push_back(owner_dim(layout.names));
  return larger;
}

void spread_fsdp_plan(const GateExpert& expert, const GateFsdp& fsdp, const nn::ModelNode& model,
                      FsdpPlan& plan) {
  GateLayout layout{plan.mesh->shape, plan.mesh->names};
  bool is_alone = layout.shape[layout.index_of(expert.mesh)] == 1;
  if (is_alone && has_dim(fsdp.mesh, expert.mesh)) return;
  MeshPlan of_experts = mesh_of_experts(expert, fsdp, *plan.mesh);
  std::int64_t shards = shards_of_experts(expert, fsdp, layout);
  nn::ModulePtr shapes = nn::build(model, {.device = nn::Device::meta});
  for (const auto& [name, parameter] : shapes->named_parameters()) {
    if (!is_expert_parameter(*shapes, name)) continue;
    for (WrapPlan& wrap : plan.wraps) {
      if (!holds(wrap, name)) continue;
      wrap.param_mesh[name] = of_experts;
      if (fsdp.shards_largest_dim) wrap.shard_dims[name] = largest_dim(parameter.shape(), shards);
    }
  }
  replicate_over(expert.mesh, layout, *plan.mesh);
}

}  // namespace simmesh
