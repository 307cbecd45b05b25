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

// MeshPlan is a mesh of a case, of which only the dims in `use` are handed on, all where it is
// empty.
struct MeshPlan {
  Shape shape;
  std::vector<std::string> names;
  std::vector<std::string> use;

  // whole is the mesh on this rank; used the part that is handed on.
  DeviceMesh whole() const;
  DeviceMesh used(const DeviceMesh& whole) const;
};

// PlainValue is a value as a Python program would pass it: of whatever type.
using PlainValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

// WrapPlan is one call of fully_shard.
struct WrapPlan {
  std::vector<std::string> modules;
  bool as_list = false;  // a list, though of a single module
  PlainValue reshard_after_forward;
  std::map<std::string, PlainValue> shard_dims;
  std::map<std::string, MeshPlan> param_mesh;
  fsdp::MixedPrecisionPolicy mp_policy;
  std::vector<std::string> ignored;
  std::optional<fsdp::DataParallelMeshDims> dp_mesh_dims;
};

// FsdpPlan is the model of a case and how it is sharded. Fields are those of
// tests/cases/fsdp/README.md.
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

// ShardedModel is a plan's model on one rank, or a model that is given; it is wrapped call by call.
class ShardedModel {
 public:
  explicit ShardedModel(const FsdpPlan& plan);
  ShardedModel(const FsdpPlan& plan, nn::Module& model);

  nn::Module& model() const { return *model_; }
  const FsdpPlan& plan() const { return *plan_; }
  const DeviceMesh& mesh() const { return *mesh_; }
  // wrap makes the call number i; wrap_all all of them.
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

// shard_model makes all calls of a plan on a model.
void shard_model(const FsdpPlan& plan, nn::Module& model);

// shard_part returns a rank's piece of a tensor that is cut along a dim into equal or torch.chunk's
// parts.
Tensor shard_part(const Tensor& whole, std::int64_t dim, std::int64_t parts, std::int64_t index);

}  // namespace simmesh
