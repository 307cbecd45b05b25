#include "training/gather_tally.h"

#include <algorithm>

namespace simmesh {

void GatherTally::see(const fsdp::Event& event) {
  switch (event.kind) {
    case fsdp::EventKind::all_gather:
      ++started_;
      partial_.push_back(event.group);
      break;
    case fsdp::EventKind::wait: end(event.group, true); break;
    case fsdp::EventKind::finalize:
      if (event.drops_gather) end(event.group, false);
      break;
    default: break;
  }
}

// A group of one rank gathers without communication, so no gather is under way.
void GatherTally::end(const fsdp::FSDPParamGroup* group, bool is_used) {
  auto found = std::find(partial_.begin(), partial_.end(), group);
  if (found == partial_.end()) return;
  partial_.erase(found);
  if (!is_used) ++dropped_;
}

}  // namespace simmesh
