#include <nlohmann/json.hpp>

#include <simmesh/core/autograd/variable.h>
#include <simmesh/core/tensor/chunk.h>
#include <simmesh/core/tensor/convert.h>
#include <simmesh/gate/case_mesh.h>
#include <simmesh/gate/case_model.h>
#include <simmesh/gate/fsdp_plan.h>
#include <simmesh/sharding/dtensor.h>

namespace simmesh {

namespace {

MeshPlan read_mesh_plan(const CaseField& field) {
  MeshPlan mesh;
  mesh.shape = field["shape"].shape();
  if (auto names = field.find("names"); names && !names->is_null()) mesh.names = names->texts();
  if (auto use = field.find("use"); use && !use->is_null()) mesh.use = use->texts();
  return mesh;
}

std::vector<std::string> read_names(const CaseField& field) {
  return field.is_text() ? std::vector<std::string>{field.text()} : field.texts();
}

fsdp::MixedPrecisionPolicy read_policy(const CaseField& field) {
  fsdp::MixedPrecisionPolicy policy;
  auto dtype = [&](const char* name) -> std::optional<DType> {
    auto found = field.find(name);
    if (!found || found->is_null()) return std::nullopt;
    return dtype_from_string(found->text());
  };
  policy.param_dtype = dtype("param_dtype");
  policy.reduce_dtype = dtype("reduce_dtype");
  policy.output_dtype = dtype("output_dtype");
  if (auto cast = field.find("cast_forward_inputs")) policy.cast_forward_inputs = cast->boolean();
  return policy;
}

WrapPlan read_wrap(const CaseField& field) {
  WrapPlan wrap;
  wrap.modules = field["modules"].texts();
  if (auto list = field.find("as_list")) wrap.as_list = list->boolean();
  if (auto reshard = field.find("reshard_after_forward"))
    wrap.reshard_after_forward = read_plain_value(*reshard);
  if (auto dims = field.find("shard_dims"))
    for (const std::string& name : dims->keys())
      wrap.shard_dims[name] = read_plain_value((*dims)[name]);
  if (auto meshes = field.find("param_mesh"))
    for (const std::string& name : meshes->keys())
      wrap.param_mesh[name] = read_mesh_plan((*meshes)[name]);
  if (auto policy = field.find("mp_policy"); policy && !policy->is_null())
    wrap.mp_policy = read_policy(*policy);
  if (auto ignored = field.find("ignored_params")) wrap.ignored = ignored->texts();
  if (auto dims = field.find("dp_mesh_dims")) {
    wrap.dp_mesh_dims.emplace();
    if (auto shard = dims->find("shard")) wrap.dp_mesh_dims->shard = read_names(*shard);
    if (auto replicate = dims->find("replicate"))
      wrap.dp_mesh_dims->replicate = read_names(*replicate);
  }
  return wrap;
}

void read_tensor_parallel(const RecordedCase& recorded, FsdpPlan& plan) {
  if (auto list = recorded.find("tp")) {
    for (const CaseField& entry : list->items()) {
      std::vector<CaseField> pair = entry.items();
      if (pair.size() != 2) entry.reject("a name and a dim");
      std::optional<std::int64_t> dim;
      if (!pair[1].is_null()) dim = pair[1].integer();
      plan.tensor_parallel.emplace_back(pair[0].text(), dim);
    }
  }
  if (auto params = recorded.find("spmd_params")) {
    for (const std::string& name : params->keys())
      for (const std::string& text : (*params)[name].texts())
        plan.spmd[name].push_back(parse_placement(text));
  }
}

fsdp::ReshardAfterForward reshard_of(const PlainValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return {};
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* ranks = std::get_if<std::int64_t>(&value)) return *ranks;
  raise(ErrorKind::value_error, "gate/fsdp_plan",
        "reshard_after_forward should be a bool or an int, got a value of another type");
}

// What isn't a dim stands for a result that isn't a Shard.
Placement placement_of(const PlainValue& value) {
  const auto* dim = std::get_if<std::int64_t>(&value);
  return dim ? Shard(*dim) : Replicate();
}

}  // namespace

PlainValue read_plain_value(const CaseField& field) {
  if (field.is_null()) return {};
  if (field.value().is_boolean()) return field.boolean();
  if (field.is_integer()) return field.integer();
  if (field.is_text()) return field.text();
  return field.number();
}

DeviceMesh MeshPlan::whole() const { return init_device_mesh(shape, names); }

DeviceMesh MeshPlan::used(const DeviceMesh& whole) const {
  return use.empty() ? whole : whole[DimNames(use)];
}

FsdpPlan read_fsdp_plan(const RecordedCase& recorded) {
  FsdpPlan plan;
  plan.model = read_model(recorded);
  plan.world = recorded["world"].integer({1, world_max});
  if (!recorded["mesh"].is_null()) plan.mesh = read_mesh_plan(recorded["mesh"]);
  for (const CaseField& wrap : recorded["wraps"].items()) plan.wraps.push_back(read_wrap(wrap));
  if (auto device = recorded.find("device")) plan.on_meta = device->text() == "meta";
  if (auto dtypes = recorded.find("dtypes"))
    for (const std::string& name : dtypes->keys())
      plan.dtypes[name] = dtype_from_string((*dtypes)[name].text());
  if (auto names = recorded.find("transposed")) plan.transposed = names->texts();
  read_tensor_parallel(recorded, plan);
  return plan;
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
    options.ignored_params.push_back(find_slot(*model_, name).tensor());
  std::vector<std::pair<Tensor, fsdp::ShardPlacementResult>> chosen;
  for (const auto& [name, dim] : wrap.shard_dims)
    chosen.push_back({find_slot(*model_, name).tensor(), {.placement = placement_of(dim)}});
  for (const auto& [name, mesh] : wrap.param_mesh)
    chosen.push_back({find_slot(*model_, name).tensor(), {.mesh = mesh.used(mesh.whole())}});
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
