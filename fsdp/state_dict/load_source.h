#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/nn/module.h"
#include "sharding/placement/dtensor_spec.h"

namespace simmesh::fsdp {

// LoadSource is the source of a load's values: a state dict that every rank has, or one of whole
// tensors that only rank 0 of the world has. In the latter case all ranks know names, dtypes and
// shapes, and each value is a broadcast: at no time does a rank hold more than one whole tensor.
class LoadSource {
 public:
  struct Entry {
    std::string name;
    DType dtype = DType::float32;
    Shape shape = {};
  };

  // If from_rank_zero, broadcasts the names from rank 0, and ignores the state of the other ranks.
  // Raises a ValueError on all ranks where rank 0 passes a tensor that is sharded over a mesh.
  LoadSource(nn::StateDict state, bool from_rank_zero);

  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(const std::string& name) const;
  // value returns an entry's tensor. From rank 0 it is a collective: all ranks call it in one
  // order.
  Tensor value(const Entry& entry) const;

 private:
  nn::StateDict state_;
  bool from_rank_zero_;
  std::vector<Entry> entries_;
};

// placed_as returns a value with the spec of a parameter: a DTensor is redistributed, from another
// mesh through the whole tensor, and each rank takes its part of a whole tensor. Returns the value
// itself without a spec.
Tensor placed_as(const std::optional<DTensorSpec>& spec, const Tensor& value);

}  // namespace simmesh::fsdp
