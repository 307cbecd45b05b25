#pragma once

#include <optional>

#include "collectives/process_group.h"
#include "core/nn/module.h"
#include "training/expert_calls.h"

namespace simmesh {

// UnusedExperts drops the gradients of sharded experts that no token chose in a step. On one device
// such an expert has no gradient, and the optimiser doesn't change it; sharding gives it zeros, to
// which an optimiser applies weight decay and momentum.
//
//   UnusedExperts unused(model);      // after fully_shard
//   backward(loss(model(x)));         // and the other micro-batches of a step
//   unused.drop_gradients();
class UnusedExperts {
 public:
  // Counts the calls of the experts of each nn::Moe in the model that fully_shard has sharded.
  explicit UnusedExperts(nn::Module& model);

  // drop_gradients ends a step: with one all-reduce, of one int64 per expert, over the ranks that
  // share them. All of these ranks call it.
  void drop_gradients();

 private:
  std::optional<ProcessGroup> group_;  // of the ranks that share the experts
  std::optional<ExpertCalls> calls_;   // where there is a group
};

}  // namespace simmesh
