#pragma once

#include <string>
#include <utility>
#include <vector>

#include "training/fsdp_plan.h"

namespace simmesh {

// GivenPlan says which gradients the nodes of kind params give: parameter i of a node gets, on rank
// r, the formula's with the seed + 10 i + 1000 r; where parameters are tensor-parallel, r is the
// rank's data-parallel coordinate and it gets its part.
struct GivenPlan {
  struct Node {
    std::string path;
    std::vector<std::pair<std::string, Shape>> parameters;
  };
  std::vector<Node> nodes;
  Formula data;
};

// read_given reads given_grads, grad_rule and grad_seed, none of which has to be there.
GivenPlan read_given(const RecordedCase& recorded, DType dtype);

// give_gradients lets the nodes give them, in the dtype in which their parameters are used. Call it
// before the model is wrapped.
void give_gradients(const GivenPlan& given, const ShardedModel& sharded, std::int64_t rank);

}  // namespace simmesh
