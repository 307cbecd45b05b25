#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "collectives/process_group.h"
#include "core/nn/module.h"

namespace simmesh {

// ExpertCalls counts the calls of the experts of each nn::Moe that this rank has. On one device an
// expert that no token chose in a step has no gradient, and the optimiser doesn't change it. A call
// without rows doesn't count.
class ExpertCalls {
 public:
  struct Expert {
    nn::ModulePtr module;
    std::vector<std::string> parameters;  // by their dotted paths
  };

  explicit ExpertCalls(nn::Module& model);

  bool has_experts() const { return !experts_.empty(); }
  // take_uncalled returns the experts that no member of a group has called since the last time. All
  // members call it, and have the same experts: one all-reduce of an int64 per expert.
  std::vector<Expert> take_uncalled(const ProcessGroup& group);
  // take_unused returns the parameters of those experts.
  std::set<std::string> take_unused(const ProcessGroup& group);

 private:
  std::vector<Expert> experts_;
  std::shared_ptr<std::vector<std::int64_t>> calls_;
};

}  // namespace simmesh
