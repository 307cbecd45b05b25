#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fsdp/fully_shard.h"
#include "training/training.h"

namespace simmesh {

// MeshPlan is a mesh, of which fully_shard gets the dims in `use`, or all dims if `use` is empty.
// With `replicate` it gets those dims joined into one, which replicates, and then those in `use`.
// The dims in `shard` are joined with the last one in `use`.
struct MeshPlan {
  Shape shape;
  std::vector<std::string> names;
  std::vector<std::string> use;
  std::vector<std::string> replicate = {};
  std::vector<std::string> shard = {};

  bool operator==(const MeshPlan&) const = default;
  // whole returns the mesh on this rank, and used the part that fully_shard gets.
  DeviceMesh whole() const;
  DeviceMesh used(const DeviceMesh& whole) const;
};

// PlainValue is a value of any type, as a Python program can pass it.
using PlainValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

// WrapPlan is one call of fully_shard.
struct WrapPlan {
  std::vector<std::string> modules;
  bool as_list = false;  // pass a list even for a single module
  PlainValue reshard_after_forward;
  // By parameter; those that this rank doesn't have don't count.
  std::map<std::string, PlainValue> shard_dims;
  std::map<std::string, MeshPlan> param_mesh;
  fsdp::MixedPrecisionPolicy mp_policy;
  std::vector<std::string> ignored;
  std::optional<fsdp::DataParallelMeshDims> dp_mesh_dims;
};

// FsdpPlan is a model and how it is sharded. The fields are those of tests/cases/fsdp/README.md.
struct FsdpPlan {
  TrainingModel model;
  std::int64_t world = 1;
  std::optional<MeshPlan> mesh;
  std::vector<WrapPlan> wraps;
  bool on_meta = false;
  bool offload = false;
  std::map<std::string, DType> dtypes;
  std::vector<std::string> transposed;
  std::vector<std::pair<std::string, std::optional<std::int64_t>>> tensor_parallel;
  std::map<std::string, Placements> spmd;
};

// ShardedModel is the model of a plan on one rank, or a given model. It is wrapped call by call.
class ShardedModel {
 public:
  explicit ShardedModel(const FsdpPlan& plan);
  ShardedModel(const FsdpPlan& plan, nn::Module& model);

  nn::Module& model() const { return *model_; }
  const FsdpPlan& plan() const { return *plan_; }
  const DeviceMesh& mesh() const { return *mesh_; }
  // wrap makes the call with this index, and wrap_all makes all calls.
  void wrap(std::size_t index);
  void wrap_all();

 private:
  void convert();
  void distribute();
  fsdp::FullyShardOptions options_of(const WrapPlan& wrap) const;

  const FsdpPlan* plan_;
  nn::ModulePtr own_;
  nn::Module* model_;
  std::optional<DeviceMesh> mesh_;
};

// shard_model makes all calls of a plan on a given model.
void shard_model(const FsdpPlan& plan, nn::Module& model);

// shard_part returns one piece of a tensor that is cut along a dim as torch.chunk cuts it.
Tensor shard_part(const Tensor& whole, std::int64_t dim, std::int64_t parts, std::int64_t index);

}  // namespace simmesh
