#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "core/engine/options/world_options.h"
#include "core/engine/seats/lane.h"
#include "core/engine/seats/picks.h"
#include "core/engine/seats/seat.h"
#include "core/engine/seats/seats.h"

namespace simmesh {

// Turns passes the turn of one run from seat to seat, in the order of its Picks. One seat at a time
// has the turn, and only that seat's rank may touch what ranks share. With one thread the rank that
// runs has it. With several, a rank that was woken runs ahead on its thread until it takes the
// turn. The thread whose rank gives up the turn makes the next pick.
//
// If no rank can run, the root of the first lane gets the turn.
class Turns {
 public:
  // Turns puts each seat on a lane: rank r on lane r modulo WorldOptions::threads, and deputies on
  // the lane of their rank, so that the two never run at once.
  Turns(const WorldOptions& options, std::vector<Seat>& seats, Seats& seating,
        std::unique_ptr<SchedulePolicy> policy);
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  Picks& picks() { return picks_; }
  const Picks& picks() const { return picks_; }

  std::size_t threads() const { return lanes_.size(); }
  Lane& lane(std::size_t thread) { return lanes_[thread]; }
  const Lane& lane(std::size_t thread) const { return lanes_[thread]; }

  // make_runnable lets the schedule pick a seat. The caller has the turn.
  void make_runnable(Seat& seat) {
    seat.state = Seat::State::runnable;
    picks_.add(seat.rank.id());
    if (!has_one_thread_) [[unlikely]]
      release(seat);
  }

  // take blocks the rank of a seat, which calls it, until it has the turn.
  void take(Seat& seat) {
    if (!has_one_thread_ && seat.turn != Seat::Turn::held) [[unlikely]]
      wait_for(seat);
  }
  bool has(const Seat& seat) const { return has_one_thread_ || seat.turn == Seat::Turn::held; }

  // give_up suspends the rank of a seat, which has the turn, and returns when the rank continues:
  // then, with several threads, without the turn.
  void give_up(Seat& seat) {
    seat.lane->gives_up_turn = true;
    seating_.suspend(seat);
  }
  // leave gives up the turn for good, for a rank that has ended. Returns at once.
  void leave(Seat& seat) {
    seat.lane->gives_up_turn = true;
    seat.lane->current_has_ended = true;
  }

  // next_seat returns the seat that runs next on a lane; null for the lane's root. With several
  // threads it blocks while the lane has nothing to do.
  Seat* next_seat(Lane& lane) noexcept;

  // end lets next_seat return every lane's root, once all ranks have ended.
  void end();

 private:
  Seat* pick_seat();
  void release(Seat& seat);
  void pass_on();
  Seat* next_seat_of_several(Lane& lane);
  void wait_for(Seat& seat);
  void fetch_ahead() const;

  std::vector<Seat>& seats_;
  Seats& seating_;
  Picks picks_;
  std::vector<Lane> lanes_;  // by thread
  const bool has_one_thread_;
  const bool fetches_ahead_;

  // With several threads, under the mutex: who has the turn.
  std::mutex mutex_;
  Seat* holder_ = nullptr;
  bool root_has_turn_ = false;
  bool has_ended_ = false;
};

}  // namespace simmesh
