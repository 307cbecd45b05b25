#include "core/engine/seats/turns.h"

#include <algorithm>
#include <utility>

#include "core/check/frames.h"

namespace simmesh {

namespace {

// The stacks of fewer ranks stay in the second cache by themselves.
constexpr std::size_t fetched_ranks_min = 256;

}  // namespace

Turns::Turns(const WorldOptions& options, std::vector<Seat>& seats, Seats& seating,
             std::unique_ptr<SchedulePolicy> policy)
    : seats_(seats),
      seating_(seating),
      picks_(std::move(policy), options.record_choices),
      lanes_(std::min(options.threads, options.ranks)),
      has_one_thread_(lanes_.size() == 1),
      fetches_ahead_(has_one_thread_ && options.ranks >= fetched_ranks_min) {
  for (Seat& seat : seats_)
    seat.lane = &lanes_[rank_behind(options, seat.rank.id()) % lanes_.size()];
}

// Lets a woken rank run ahead on its thread.
SIMMESH_OWN_FRAME void Turns::release(Seat& seat) {
  std::lock_guard lock(mutex_);
  seat.turn = Seat::Turn::released;
  seat.lane->released.push_back(seat.rank.id());
  seat.lane->changed.notify_one();
}

SIMMESH_OWN_FRAME void Turns::wait_for(Seat& seat) {
  bool must_wait = false;
  {
    std::lock_guard lock(mutex_);
    must_wait = holder_ != &seat;
    seat.turn = must_wait ? Seat::Turn::waiting : Seat::Turn::held;
  }
  if (must_wait) seating_.suspend(seat);
}

// The frames of a rank that waits in a collective take about a kilobyte above the place where it
// was suspended, and the switch has saved registers below it.
SIMMESH_OWN_FRAME void Turns::fetch_ahead() const {
  constexpr std::ptrdiff_t below_bytes = 320, above_bytes = 896, line_bytes = 64;
  RankId coming = picks_.foreseen();
  if (coming == no_rank) return;
  const Seat& seat = seats_[coming];
  if (seat.suspended_at == 0) return;
  const std::byte* at = seat.stack_end + seat.suspended_at;
  for (std::ptrdiff_t offset = -below_bytes; offset < above_bytes; offset += line_bytes)
    __builtin_prefetch(at + offset);
}

inline Seat* Turns::pick_seat() {
  RankId next = picks_.next();
  if (next == no_rank) return nullptr;
  Seat& seat = seats_[next];
  seat.state = Seat::State::running;
  return &seat;
}

Seat* Turns::next_seat(Lane& lane) noexcept {
  if (!has_one_thread_) [[unlikely]]
    return next_seat_of_several(lane);
  Seat* seat = pick_seat();
  if (fetches_ahead_) fetch_ahead();
  return seat;
}

void Turns::pass_on() {
  holder_ = pick_seat();
  root_has_turn_ = holder_ == nullptr;
  Lane& owner = root_has_turn_ ? lanes_.front() : *holder_->lane;
  owner.changed.notify_one();
}

Seat* Turns::next_seat_of_several(Lane& lane) {
  std::unique_lock lock(mutex_);
  if (std::exchange(lane.gives_up_turn, false)) pass_on();
  for (;;) {
    if (holder_ && holder_->lane == &lane) {
      Seat& seat = *holder_;
      if (seat.turn == Seat::Turn::released || seat.turn == Seat::Turn::waiting) {
        seat.turn = Seat::Turn::held;
        return &seat;
      }
    }
    if (has_ended_) return nullptr;
    if (&lane == &lanes_.front() && std::exchange(root_has_turn_, false)) return nullptr;
    if (!lane.released.empty()) {
      Seat& seat = seats_[lane.released.front()];
      lane.released.pop_front();
      if (seat.turn != Seat::Turn::released) continue;
      seat.turn = Seat::Turn::ahead;
      return &seat;
    }
    lane.changed.wait(lock);
  }
}

void Turns::end() {
  if (has_one_thread_) return;
  std::lock_guard lock(mutex_);
  has_ended_ = true;
  for (Lane& lane : lanes_) lane.changed.notify_one();
}

}  // namespace simmesh
