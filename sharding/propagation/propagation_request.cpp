#include "sharding/propagation/propagation_request.h"

#include <algorithm>
#include <fmt/format.h>

namespace simmesh {

namespace {

bool same_attributes(const Attributes& a, const Attributes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

bool PropagationRequest::operator==(const PropagationRequest& other) const {
  return op == other.op && given == other.given && inputs == other.inputs &&
         same_attributes(attributes, other.attributes) && mesh_shape == other.mesh_shape &&
         destination == other.destination && out == other.out && keeps_bits == other.keeps_bits &&
         topology == other.topology;
}

std::string to_string(const PropagationRequest& request) {
  std::string text = request.op->name;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    text += i == 0 ? " of " : ", ";
    if (!request.inputs[i].is_defined) {
      text += "nothing";
      continue;
    }
    text += fmt::format("{}{}({})", to_string(request.inputs[i].dtype),
                        to_string(DimSpan(request.inputs[i].shape)),
                        request.given[i] ? to_string(*request.given[i]) : "plain");
  }
  return text + " on mesh " + to_string(DimSpan(request.mesh_shape));
}

bool makes_parts_of_a_sum(PlacementSpan from, PlacementSpan to, DimSpan mesh_shape) {
  for (std::size_t i = 0; i < to.size(); ++i)
    if (from[i].is_replicate() && to[i] == Partial(ReduceOp::sum) && mesh_shape[i] > 1) return true;
  return false;
}

bool is_shardable(DimSpan shape, PlacementSpan placements, DimSpan mesh_shape) {
  Dims shards(shape.size(), 1);
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const Placement& placement = placements[i];
    if (!placement.splits()) continue;
    std::size_t dim = std::size_t(placement.dim());
    if (dim >= shape.size()) return false;
    if (placement.is_ragged_shard()) continue;
    shards[dim] *= mesh_shape[i];
    if (shape[dim] < shards[dim] * placement.split_factor()) return false;
  }
  return true;
}

}  // namespace simmesh
