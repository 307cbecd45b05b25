#pragma once

#include <string>
#include <utility>
#include <vector>

#include "training/fsdp_plan.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// GivenPlan are the gradients that the nodes of kind params get: parameter i of a node gets, on
// rank r, the formula's with the seed + 10 i + 1000 r; where parameters are tensor-parallel, r is
// the rank's data-parallel coordinate and it gets its part.
struct GivenPlan {
  struct Node {
    std::string path;
    std::vector<std::pair<std::string, Shape>> parameters;
  };
  std::vector<Node> nodes;
  Formula data;
};

// given_fields are given_grads, grad_rule and grad_seed.
schema::Fields given_fields();

// read_given reads them for a model; either all or none of them are present, and all nodes are of
// kind params.
GivenPlan read_given(const RecordedCase& recorded, const TrainingModel& model);

// give_gradients makes the nodes give them, in the dtype in which their parameters are used. Call
// it before the model is wrapped.
void give_gradients(const GivenPlan& given, const ShardedModel& sharded, std::int64_t rank);

}  // namespace simmesh
