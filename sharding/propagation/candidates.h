#pragma once

#include "sharding/propagation/propagation_request.h"

namespace simmesh {

// CandidateCosts are the costs of redistributing the inputs of a call, each found once.
class CandidateCosts {
 public:
  explicit CandidateCosts(const PropagationRequest& request);

  // cost_us returns the cost of redistributing one input; infinite where that is impossible.
  double cost_us(std::size_t input, const Placements& target);

  // floor_us is the least cost of an input whose placement on a mesh dim changes.
  double floor_us(std::size_t input, std::size_t mesh_dim, const Placement& target) const;

 private:
  struct Known {
    Placements target;
    double cost_us;
  };

  const PropagationRequest& request_;
  std::vector<std::vector<Known>> known_;  // of each input
};

// sharding_of returns placements with the shard order of the call's inputs: where some mesh dims
// split one dim of an input in an order other than ascending, they split every tensor of the call
// in that order.
Sharding sharding_of(const Placements& placements, const PropagationRequest& request);

}  // namespace simmesh
