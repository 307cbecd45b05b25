#include "core/engine/seats/picks.h"

#include "core/check/frames.h"

namespace simmesh {

void Picks::begin_ending(std::size_t ranks) {
  policy_ = Schedule::fifo().make_policy(ranks, 0);
  listener_ = nullptr;
  runnable_ = 0;
  is_ending_ = true;
}

SIMMESH_OWN_FRAME RankId Picks::next_to_end() {
  if (runnable_ == 0) return no_rank;
  --runnable_;
  return policy_->pick();
}

SIMMESH_OWN_FRAME void Picks::take_error() { error_ = policy_->error(); }

}  // namespace simmesh
