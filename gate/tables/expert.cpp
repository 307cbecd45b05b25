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
  return dims.empty() ? 1 : layout.shape[layout.index_of(dims.back())];
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

// Returns a name that no dim of the mesh has, for a dim of one rank.
MeshPlan own_rank(const MeshPlan& mesh) {
  std::string name = fmt::format("{}_owner", join_text(mesh.names, "_"));
  MeshPlan own{mesh.shape, mesh.names, {name}};
  own.shape.push_back(1);
  own.names.push_back(name);
  return own;
}

void replicate_over(const std::string& dim, const GateLayout& layout, MeshPlan& mesh) {
  if (has_dim(mesh.use, dim)) return;
  std::string shard = mesh.use.back();
  for (const std::string& name : layout.names)
    if (name != shard && (name == dim || has_dim(mesh.use, name))) mesh.replicate.push_back(name);
  mesh.use = {shard};
}

}  // namespace

GateExpert read_gate_expert(GateTable& table, const GateLayout& layout, const nn::ModelNode& model,
                            const GateFsdp* fsdp) {
  GateExpert expert{table.word("mesh", layout.names.back(), layout.names)};
  table.finish();
  if (!has_kind(model, "moe")) table.reject_value("mesh", "a model with experts", "one without");
  if (!fsdp) return expert;
  check_wrap(table, *fsdp, *nn::build(model, {.device = nn::Device::meta}));
  check_reshard(table, *fsdp, shards_of_experts(expert, *fsdp, layout));
  return expert;
}

std::string expert_entry(const GateExpert& expert) {
  return fmt::format("{{ mesh = \"{}\" }}", expert.mesh);
}

void spread_fsdp_plan(const GateExpert& expert, const GateFsdp& fsdp, const nn::ModelNode& model,
                      FsdpPlan& plan) {
  GateLayout layout{plan.mesh->shape, plan.mesh->names};
  bool is_alone = layout.shape[layout.index_of(expert.mesh)] == 1;
  if (is_alone && has_dim(fsdp.mesh, expert.mesh)) return;
  DimList dims = dims_of_experts(expert, fsdp);
  MeshPlan of_experts{layout.shape, layout.names, dims};
  if (dims.empty()) of_experts = own_rank(*plan.mesh);
  std::int64_t shards = shards_of_experts(expert, fsdp, layout);
  nn::ModulePtr shapes = nn::build(model, {.device = nn::Device::meta});
  for (const auto& [name, parameter] : shapes->named_parameters()) {
    if (!is_expert_parameter(*shapes, name)) continue;
    for (WrapPlan& wrap : plan.wraps) {
      wrap.param_mesh[name] = of_experts;
      if (fsdp.shards_largest_dim) wrap.shard_dims[name] = largest_dim(parameter.shape(), shards);
    }
  }
  replicate_over(expert.mesh, layout, *plan.mesh);
}

}  // namespace simmesh
