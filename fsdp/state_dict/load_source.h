#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/nn/module.h"
#include "sharding/placement/dtensor_spec.h"

namespace simmesh::fsdp {

// LoadSource is where a load takes its values from: a state dict that every rank has, or one of
// whole tensors that only rank 0 of the world has. Of the latter all ranks know names, dtypes and
// shapes, and each value is a broadcast: at no time does a rank hold more than one whole tensor.
class LoadSource {
 public:
  struct Entry {
    std::string name;
    DType dtype = DType::float32;
    Shape shape = {};
  };

  // From rank 0 it broadcasts the names; what the other ranks pass isn't looked at. Raises a
  // ValueError on all ranks where rank 0 passes a tensor that is cut over a mesh.
  LoadSource(nn::StateDict state, bool from_rank_zero);

  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(const std::string& name) const;
  // value returns an entry's tensor. From rank 0 it is a collective: all ranks ask in one order.
  Tensor value(const Entry& entry) const;

 private:
  nn::StateDict state_;
  bool from_rank_zero_;
  std::vector<Entry> entries_;
};

// placed_as returns a value as a parameter of some spec lies: a DTensor is brought to its
// placements, from another mesh by way of the whole tensor, and of a whole tensor each rank takes
// its part. The value itself without a spec.
Tensor placed_as(const std::optional<DTensorSpec>& spec, const Tensor& value);

}  // namespace simmesh::fsdp
