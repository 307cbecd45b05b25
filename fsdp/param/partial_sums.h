#pragma once

#include <vector>

#include "fsdp/param/param.h"

namespace simmesh::fsdp {

// PartialSums are results of a group's reduce-scatters that no all-reduce followed: sums over the
// shard group, flat and padded, which wait for those of the replicas. They belong to parameters:
// micro-batches may use different ones, and each parameter's part is added to its part of the next
// micro-batch. This is what PyTorch does from 2.15 on; 2.13 adds buffers by position, and so mixes
// up parameters of equal sizes.
class PartialSums {
 public:
  bool is_empty() const { return !flat_.is_defined(); }
  // has is true if a sum waits for a parameter.
  bool has(const FSDPParam& param) const;
  DType dtype() const { return flat_.dtype(); }

  // take_for returns the sums as the parts of these parameters, with zeros for parameters without
  // one, and keeps nothing. All parameters with a sum must be among them.
  Tensor take_for(const std::vector<ParamGrad>& gradients);
  // keep takes a flat buffer of the parts of these parameters.
  void keep(Tensor flat, const std::vector<ParamGrad>& gradients);
  void clear();

 private:
  Tensor flat_;
  std::vector<const FSDPParam*> params_;  // in the order of their parts
};

}  // namespace simmesh::fsdp
