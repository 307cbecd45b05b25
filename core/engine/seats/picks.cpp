#include "core/engine/seats/picks.h"

namespace simmesh {

void Picks::begin_ending(std::size_t ranks) {
  policy_ = Schedule::fifo().make_policy(ranks, 0);
  runnable_ = 0;
  is_ending_ = true;
}

[[gnu::noinline]] RankId Picks::next_to_end() {
  if (runnable_ == 0) return no_rank;
  --runnable_;
  return policy_->pick();
}

[[gnu::noinline]] void Picks::take_error() { error_ = policy_->error(); }

}  // namespace simmesh
