#pragma once

#include <cstdint>
#include <vector>

#include "fsdp/param/event.h"

namespace simmesh {

// GatherTally counts the all-gathers of parameters that a rank started, and the unused ones among
// them: they were dropped at the end of a backward pass, or no module computed with their result.
// It derives the counts from the events of the rank.
class GatherTally {
 public:
  void see(const fsdp::Event& event);

  std::int64_t started() const { return started_; }
  // unused also counts gathers that are still under way, so it is final only at the end of a run.
  std::int64_t unused() const { return dropped_ + std::int64_t(partial_.size()); }

 private:
  void end(const fsdp::FSDPParamGroup* group, bool is_used);

  std::vector<const fsdp::FSDPParamGroup*> partial_;
  std::int64_t started_ = 0;
  std::int64_t dropped_ = 0;
};

}  // namespace simmesh
