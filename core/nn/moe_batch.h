#pragma once

#include <cstdint>
#include <vector>

#include "core/nn/moe_routing.h"
#include "core/nn/router.h"

namespace simmesh::nn {

class Moe;

// RoutingDecision is what follows from the choices of all tokens of a batch for the tokens of one
// call: the tokens of the call that each expert takes, and how many tokens of the batch chose each
// expert. Tokens of the batch are numbered as on one device: by row, then by position.
struct RoutingDecision {
  std::vector<ExpertTokens> experts;
  RouterLoad load;
};

// MoeBatch knows the batch of which a call of an nn::Moe sees a part: the other micro-batches of a
// step, and the tokens of other ranks.
class MoeBatch {
 public:
  virtual ~MoeBatch() = default;
  // numbers returns the numbers of the tokens of x in the batch, which a forced balance needs; by
  // default none, so that the tokens of each call count from 0.
  virtual std::vector<std::int64_t> numbers(const Moe&, const Shape&) { return {}; }
  // decide returns the decision for the tokens of x, which have this routing. The loads may be
  // empty where neither losses nor a capacity need them.
  virtual RoutingDecision decide(const Moe& moe, const Routing& routing, const Shape& x) = 0;
  // add_terms takes the terms of the losses of the call's tokens (see loss_terms). Returns the
  // factor by which the loss of this call is scaled before backward.
  virtual double add_terms(const Moe& moe, const Tensor& terms) = 0;
};

}  // namespace simmesh::nn
