#pragma once

#include "sharding/propagation/propagation_request.h"

namespace simmesh {

// CandidateCosts are the prices of bringing the inputs of a call to other placements, each found
// once.
class CandidateCosts {
 public:
  explicit CandidateCosts(const PropagationRequest& request);

  // cost_us returns the price for one input; infinite where it can't be brought there.
  double cost_us(std::size_t input, const Placements& target);

  // floor_us is what an input costs at least whose placement of a mesh dim is another.
  double floor_us(std::size_t input, std::size_t mesh_dim, const Placement& target) const;

 private:
  struct Known {
    Placements target;
    double cost_us;
  };

  const PropagationRequest& request_;
  std::vector<std::vector<Known>> known_;  // of each input
};

// sharding_of returns placements with the order of shards that the inputs of a call have: where
// some mesh dims split one dim of an input in an order of its own, they split every tensor of the
// call in that order.
Sharding sharding_of(const Placements& placements, const PropagationRequest& request);

}  // namespace simmesh
