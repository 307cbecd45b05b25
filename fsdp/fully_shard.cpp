#include "fsdp/fully_shard.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/nn/containers.h"
#include "fsdp/managed.h"
#include "fsdp/param/release_needed.h"
#include "fsdp/state/state.h"

namespace simmesh::fsdp {

namespace {

constexpr std::string_view fully_shard_source = "fsdp/fully_shard";

bool is_below(const nn::Module* module, nn::Module* other) {
  for (auto& [name, below] : other->named_modules())
    if (below == module && below != other) return true;
  return false;
}

// Leaves out modules that are below others of the list, since they are part of those.
std::vector<nn::Module*> outermost(const std::vector<nn::Module*>& modules) {
  std::vector<nn::Module*> outer;
  for (nn::Module* module : modules)
    if (std::none_of(modules.begin(), modules.end(),
                     [module](nn::Module* other) { return is_below(module, other); }))
      outer.push_back(module);
  return outer;
}

void check_modules(const std::vector<nn::Module*>& modules) {
  if (modules.empty())
    raise(ErrorKind::value_error, fully_shard_source, "expected a module, got none");
  for (auto it = modules.begin(); it != modules.end(); ++it)
    if ((*it)->extension() || std::find(modules.begin(), it, *it) != it)
      raise(ErrorKind::assertion_error, fully_shard_source,
            "Each distinct composable distributed API can only be applied to a module once: "
            "fully_shard has already been applied");
}

MeshInfo mesh_of(const FullyShardOptions& options) {
  DeviceMesh mesh = options.mesh ? *options.mesh : init_device_mesh({ProcessGroup::world().size()});
  return options.dp_mesh_dims ? spmd_mesh_info_of(mesh, *options.dp_mesh_dims) : mesh_info_of(mesh);
}

std::vector<std::string> data_dims(const FullyShardOptions& options) {
  if (!options.dp_mesh_dims) return {};
  std::vector<std::string> names = options.dp_mesh_dims->replicate;
  const std::vector<std::string>& shard = options.dp_mesh_dims->shard;
  names.insert(names.end(), shard.begin(), shard.end());
  return names;
}

// Grouping puts each parameter into the group of its mesh, in order of first appearance.
class Grouping {
 public:
  Grouping(FSDPState& state, const FullyShardOptions& options)
      : state_(state), options_(options), mesh_(mesh_of(options)) {
    if (options.shard_placement_fn && !mesh_.is_sharded)
      raise(ErrorKind::value_error, fully_shard_source,
            "a mesh by way of shard_placement_fn is not supported where parameters are replicated "
            "only");
    if (options.dp_mesh_dims && mesh_.is_sharded && options.reshard_after_forward.ranks())
      raise(ErrorKind::not_implemented_error, fully_shard_source,
            "reshard_after_forward as int is not yet supported with SPMD mesh (dp_mesh_dims)");
    post_forward_of(options.reshard_after_forward, mesh_);
  }

  void add(const ManagedParam& managed) {
    ParamSharding sharding{
        .mesh = mesh_, .offload = options_.offload_policy, .data_dims = data_dims(options_)};
    bool is_own_mesh = false;
    if (options_.shard_placement_fn) {
      if (auto result = options_.shard_placement_fn(managed.parameter)) {
        sharding.placement = result->placement;
        if (result->mesh) sharding.mesh = mesh_info_of(*result->mesh);
        is_own_mesh = result->mesh.has_value();
      }
    }
    if (options_.gather_extension_fn)
      sharding.extension = options_.gather_extension_fn(managed.parameter);
    sharding.param_dtype = param_dtype_of(managed.parameter);
    FSDPParamGroup& group = group_of(sharding.mesh, is_own_mesh);
    sharding.mesh = group.mesh();
    sharding.post_forward = group.post_forward_mesh();
    group.params().push_back(
        std::make_unique<FSDPParam>(managed.parameter, managed.slots, std::move(sharding)));
  }

 private:
  std::optional<DType> param_dtype_of(const Tensor& parameter) const {
    const MixedPrecisionPolicy& policy = options_.mp_policy;
    if (!policy.param_dtype_override_fn) return std::nullopt;
    require_release({ErrorKind::type_error, "param_dtype_override_fn"},
                    ReleaseChange::param_dtype_override);
    std::optional<DType> chosen = policy.param_dtype_override_fn(parameter);
    if (chosen && chosen != policy.param_dtype && *chosen != parameter.dtype())
      raise(ErrorKind::value_error, fully_shard_source,
            "param_dtype_override_fn must return nothing, param_dtype, or the parameter's original "
            "dtype {}, got {}",
            to_string(parameter.dtype()), to_string(*chosen));
    return chosen;
  }

  // A mesh that a parameter brings isn't the module's mesh, and has process groups of its own; only
  // a mesh of the whole world always has the world's.
  FSDPParamGroup& group_of(const MeshInfo& mesh, bool is_own_mesh) {
    for (auto& group : state_.groups()) {
      if (group->is_own_mesh() == is_own_mesh && group->mesh().mesh == mesh.mesh) return *group;
      if (group->is_own_mesh() != is_own_mesh && is_world(mesh) && is_world(group->mesh()))
        raise(ErrorKind::value_error, fully_shard_source,
              "Params sharing the same process group must use the same mesh info; leave the mesh "
              "out for that of fully_shard, got {}",
              to_string(mesh.mesh));
    }
    ParamGroupOptions options{.mesh = mesh,
                              .is_own_mesh = is_own_mesh,
                              .post_forward = post_forward_of(options_.reshard_after_forward, mesh),
                              .policy = state_.policy()};
    state_.groups().push_back(std::make_unique<FSDPParamGroup>(state_, std::move(options)));
    return *state_.groups().back();
  }

  static bool is_world(const MeshInfo& mesh) {
    return !mesh.replicate_group && mesh.shard_group.members() == ProcessGroup::world().members();
  }

  FSDPState& state_;
  const FullyShardOptions& options_;
  MeshInfo mesh_;
};

}  // namespace

FSDPModule fully_shard(const std::vector<nn::Module*>& modules, const FullyShardOptions& options,
                       CallSite site) {
  std::vector<nn::Module*> outer = outermost(modules);
  check_modules(outer);
  auto state = std::make_shared<FSDPState>(outer, options.mp_policy,
                                           options.reshard_after_forward.is_default());
  Grouping grouping(*state, options);
  for (const ManagedParam& param : managed_params(outer, options.ignored_params))
    grouping.add(param);
  state->set_site(site);
  state->install();
  return FSDPModule(*outer.front());
}

FSDPModule fully_shard(nn::Module& module, const FullyShardOptions& options, CallSite site) {
  std::vector<nn::Module*> modules = {&module};
  check_modules(modules);
  if (dynamic_cast<const nn::ModuleList*>(&module))
    raise(ErrorKind::value_error, fully_shard_source,
          "fully_shard does not support containers that do not implement forward: a module list");
  return fully_shard(modules, options, site);
}

}  // namespace simmesh::fsdp
