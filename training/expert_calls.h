#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "collectives/process_group.h"
#include "core/nn/module.h"

namespace simmesh {

// ExpertCalls counts the calls of the experts of each nn::Moe that this rank has. On one device an
// expert that no token chose in a step has no gradient, and the optimiser doesn't change it. Ranks
// whose tokens differ reduce the gradients of the same experts: each runs on every rank, without
// rows where it has none, which doesn't count as a call.
class ExpertCalls {
 public:
  explicit ExpertCalls(nn::Module& model);

  bool has_experts() const { return !experts_.empty(); }
  // take_unused returns the parameters of the experts that no member of a group has called since
  // the last time, by their dotted paths. All members call it, and have the same experts: one
  // all-reduce of an int64 per expert.
  std::set<std::string> take_unused(const ProcessGroup& group);

 private:
  std::vector<std::vector<std::string>> experts_;  // the parameters of each
  std::shared_ptr<std::vector<std::int64_t>> calls_;
};

}  // namespace simmesh
