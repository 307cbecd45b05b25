#pragma once

#include <cstdint>
#include <vector>

#include "fsdp/event.h"

namespace simmesh {

// GatherTally counts the all-gathers of parameters that a rank started, and those that nobody used:
// they were dropped at the end of a backward pass, or never copied out for a module to compute
// with. It derives that from the rank's events.
class GatherTally {
 public:
  void see(const fsdp::Event& event);

  std::int64_t started() const { return started_; }
  // unused counts gathers that are pending now as well: ask at the end.
  std::int64_t unused() const { return dropped_ + std::int64_t(pending_.size()); }

 private:
  void end(const fsdp::FSDPParamGroup* group, bool is_used);

  std::vector<const fsdp::FSDPParamGroup*> pending_;
  std::int64_t started_ = 0;
  std::int64_t dropped_ = 0;
};

}  // namespace simmesh
