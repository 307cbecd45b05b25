#include "verify/fsdp/read_plan.h"

#include <nlohmann/json.hpp>

#include "verify/case_mesh.h"
#include "verify/case_model.h"

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

}  // namespace

PlainValue read_plain_value(const CaseField& field) {
  if (field.is_null()) return {};
  if (field.value().is_boolean()) return field.boolean();
  if (field.is_integer()) return field.integer();
  if (field.is_text()) return field.text();
  return field.number();
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

}  // namespace simmesh
