#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/tensor/dtype.h"
#include "fsdp/param/gather_extension.h"
#include "mesh/device_mesh.h"
#include "sharding/placement/placement.h"

namespace simmesh::fsdp {

// ReshardAfterForward selects what happens to gathered parameters after forward: true frees them,
// false keeps them, and an int n keeps 1/n of them on each of n neighbouring ranks. By default they
// are freed, except those of the root.
class ReshardAfterForward {
 public:
  ReshardAfterForward() = default;
  ReshardAfterForward(bool reshard) : value_(reshard) {}
  template <std::integral Size>
  requires(!std::same_as<Size, bool>) ReshardAfterForward(Size ranks)
      : value_(std::int64_t(ranks)) {}

  bool is_default() const { return std::holds_alternative<std::monostate>(value_); }
  const bool* flag() const { return std::get_if<bool>(&value_); }
  const std::int64_t* ranks() const { return std::get_if<std::int64_t>(&value_); }

 private:
  std::variant<std::monostate, bool, std::int64_t> value_;
};

using ParamDtypeFn = std::function<std::optional<DType>(const Tensor& parameter)>;

// MixedPrecisionPolicy sets the dtypes in which parameters are gathered and used, gradients are
// reduced, and outputs are returned. Without a param_dtype or output_dtype these are the
// parameters' own. Without a reduce_dtype gradients are reduced in the grad_dtype of the parameters
// (core/autograd/grad_dtype.h), which is their own dtype where it isn't set, whatever param_dtype
// is; before PyTorch 2.15 in the dtype in which backward gives them.
struct MixedPrecisionPolicy {
  std::optional<DType> param_dtype = {};
  std::optional<DType> reduce_dtype = {};
  std::optional<DType> output_dtype = {};
  bool cast_forward_inputs = true;
  // Chooses the dtype in which a parameter is gathered and used, when fully_shard is applied:
  // param_dtype, which is also the default, or the parameter's own dtype. Inputs are cast to
  // param_dtype all the same. All ranks must choose the same. Since PyTorch 2.15.
  ParamDtypeFn param_dtype_override_fn = {};
};

// CPUOffloadPolicy keeps shards and their gradients in the memory of the host, which the ledger of
// the rank doesn't count.
struct CPUOffloadPolicy {
  // Copies gradients to pinned memory while backward continues; with other memory each copy makes
  // the host wait.
  bool pin_memory = true;
};

// ShardPlacementResult is the dim along which a parameter is sharded, and the mesh where that isn't
// the module's: parameters with a mesh of their own form a group of their own.
struct ShardPlacementResult {
  Placement placement = Shard(0);
  std::optional<DeviceMesh> mesh = {};
};
using ShardPlacementFn =
    std::function<std::optional<ShardPlacementResult>(const Tensor& parameter)>;

// DataParallelMeshDims names the dims for data parallelism of a mesh on which all parameters are
// already distributed; several dims count as one.
struct DataParallelMeshDims {
  std::vector<std::string> shard = {};
  std::vector<std::string> replicate = {};
};

// FullyShardOptions are the arguments of fully_shard, with PyTorch's names and defaults.
struct FullyShardOptions {
  // 1-D: shards; 2-D: the first dim replicates, the second shards. All ranks by default.
  std::optional<DeviceMesh> mesh = {};
  ReshardAfterForward reshard_after_forward = {};
  ShardPlacementFn shard_placement_fn = {};
  MixedPrecisionPolicy mp_policy = {};
  std::optional<CPUOffloadPolicy> offload_policy = {};
  // Parameters that are left alone.
  std::vector<Tensor> ignored_params = {};
  std::optional<DataParallelMeshDims> dp_mesh_dims = {};
  // The tensors that parameters send to all-gathers instead of their shards. Not with an int for
  // reshard_after_forward (NotImplementedError).
  GatherExtensionFn gather_extension_fn = {};
};

}  // namespace simmesh::fsdp
