#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh::fsdp {

// GatherExtension changes the tensors that a parameter sends to all-gathers, for instance to
// numbers of fewer bits with a scale. It stands for the hooks fsdp_pre_all_gather and
// fsdp_post_all_gather of a tensor subclass in PyTorch. Both functions are called on every rank,
// without a tape.
struct GatherExtension {
  // pre_all_gather returns the tensors that this rank sends for its shard, padded with zeros as
  // docs/fsdp.md says: contiguous tensors with at least one dim, of the same shapes and dtypes on
  // all ranks.
  std::function<std::vector<Tensor>(const Tensor& padded_shard)> pre_all_gather;
  // post_all_gather returns the whole parameter, without padding and in the dtype that it computes
  // in. It gets the ranks' tensors concatenated along dim 0.
  std::function<Tensor(const std::vector<Tensor>& gathered, DType compute_dtype)> post_all_gather;
};

// GatherExtensionFn returns the extension of a parameter, if it has one.
using GatherExtensionFn = std::function<std::optional<GatherExtension>(const Tensor& parameter)>;

}  // namespace simmesh::fsdp
