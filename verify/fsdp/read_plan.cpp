#include "verify/fsdp/read_plan.h"

#include "verify/case_mesh.h"
#include "verify/case_model.h"
#include "verify/case_tensor.h"

namespace simmesh {

namespace {

constexpr std::int64_t fsdp_world_max = 1024;

Schema mesh_plan_schema() {
  using namespace schema;
  return named("mesh of fully_shard", [] {
    return object({required("shape", list(integer({.min = 1}), {.min = 1, .max = 64})),
                   optional("names", or_null(list(text(), {.min = 1}))),
                   optional("use", or_null(list(text(), {.min = 1})))});
  });
}

Schema wrap_schema() {
  using namespace schema;
  return named("call of fully_shard", [] {
    Schema dtype = or_null(dtype_schema());
    Schema policy =
        object({optional("param_dtype", dtype), optional("reduce_dtype", dtype),
                optional("output_dtype", dtype), optional("cast_forward_inputs", flag())});
    Schema names = either({text(), list(text(), {.min = 1})});
    return object({required("modules", list(any_text(), {.min = 1})), optional("as_list", flag()),
                   optional("reshard_after_forward", plain_schema()),
                   optional("shard_dims", map(plain_schema())),
                   optional("param_mesh", map(mesh_plan_schema())),
                   optional("mp_policy", or_null(policy)), optional("ignored_params", list(text())),
                   optional("dp_mesh_dims",
                            object({optional("shard", names), optional("replicate", names)}))});
  });
}

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

Schema plain_schema() {
  using namespace schema;
  return either({null(), flag(), number(), any_text()});
}

schema::Fields fsdp_fields(schema::Fields own) {
  using namespace schema;
  Fields fields = model_fields();
  Fields sharding = {required("world", integer({.min = 1, .max = fsdp_world_max})),
                     required("mesh", or_null(mesh_plan_schema())),
                     required("wraps", list(wrap_schema())),
                     optional("tp", list(tuple({text(), or_null(integer())})))};
  fields.insert(fields.end(), sharding.begin(), sharding.end());
  fields.insert(fields.end(), own.begin(), own.end());
  return fields;
}

schema::Fields unusual_model_fields() {
  using namespace schema;
  Schema placement = spelled("a placement", [](const std::string& text) {
    parse_placement(text);
    return true;
  });
  return {optional("device", word({"meta", "cpu"})), optional("dtypes", map(dtype_schema())),
          optional("transposed", list(text())), optional("spmd_params", map(list(placement)))};
}

PlainValue read_plain_value(const CaseField& field) {
  if (field.is_null()) return {};
  if (field.is_boolean()) return field.boolean();
  if (field.is_integer()) return field.integer();
  if (field.is_text()) return field.text();
  return field.number();
}

FsdpPlan read_fsdp_plan(const RecordedCase& recorded) {
  FsdpPlan plan;
  plan.model = read_model(recorded);
  plan.world = recorded["world"].integer();
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
