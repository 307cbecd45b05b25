#include <algorithm>

#include <simmesh/core/check/error.h>
#include <simmesh/core/nn/containers.h>
#include <simmesh/fsdp/fully_shard.h>
#include <simmesh/fsdp/managed.h>
#include <simmesh/fsdp/state.h>

namespace simmesh::fsdp {

namespace {

constexpr std::string_view fully_shard_source = "fsdp/fully_shard";

bool is_below(const nn::Module* module, nn::Module* other) {
  for (auto& [name, below] : other->named_modules())
    if (below == module && below != other) return true;
  return false;
}

// Modules below others of a list are part of those.
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
    if (options.dp_mesh_dims && options.reshard_after_forward.ranks())
      raise(ErrorKind::not_implemented_error, fully_shard_source,
            "reshard_after_forward as int is not yet supported with SPMD mesh (dp_mesh_dims)");
    post_forward_of(options.reshard_after_forward, mesh_);
  }

  void add(const ManagedParam& managed) {
    ParamSharding sharding{.mesh = mesh_,
                           .offload = options_.offload_policy.has_value(),
                           .data_dims = data_dims(options_)};
    if (options_.shard_placement_fn) {
      if (auto result = options_.shard_placement_fn(managed.parameter)) {
        sharding.placement = result->placement;
        if (result->mesh) sharding.mesh = mesh_info_of(*result->mesh);
      }
    }
    FSDPParamGroup& group = group_of(sharding.mesh);
    sharding.mesh = group.mesh();
    sharding.post_forward = group.post_forward_mesh();
    group.params().push_back(
        std::make_unique<FSDPParam>(managed.parameter, managed.slots, std::move(sharding)));
  }

 private:
  FSDPParamGroup& group_of(const MeshInfo& mesh) {
    for (auto& group : state_.groups())
      if (group->mesh().mesh == mesh.mesh) return *group;
    PostForward post_forward = post_forward_of(options_.reshard_after_forward, mesh);
    state_.groups().push_back(std::make_unique<FSDPParamGroup>(
        state_, mesh, std::move(post_forward), options_.mp_policy));
    return *state_.groups().back();
  }

  FSDPState& state_;
  const FullyShardOptions& options_;
  MeshInfo mesh_;
};

}  // namespace

FSDPModule fully_shard(const std::vector<nn::Module*>& modules, const FullyShardOptions& options) {
  std::vector<nn::Module*> outer = outermost(modules);
  check_modules(outer);
  auto state = std::make_shared<FSDPState>(outer, options.mp_policy,
                                           options.reshard_after_forward.is_default());
  Grouping grouping(*state, options);
  for (const ManagedParam& param : managed_params(outer, options.ignored_params))
    grouping.add(param);
  state->install();
  return FSDPModule(*outer.front());
}

FSDPModule fully_shard(nn::Module& module, const FullyShardOptions& options) {
  std::vector<nn::Module*> modules = {&module};
  check_modules(modules);
  if (dynamic_cast<const nn::ModuleList*>(&module))
    raise(ErrorKind::value_error, fully_shard_source,
          "fully_shard does not support containers that do not implement forward: a module list");
  return fully_shard(modules, options);
}

}  // namespace simmesh::fsdp
