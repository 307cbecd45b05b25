#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "core/engine/fibers/fiber_switch.h"
#include "core/engine/ranks/rank.h"
#include "core/engine/reports/reported_run.h"
#include "core/engine/seats/relaxed.h"

namespace boost::fibers {
class context;
}

namespace simmesh {

struct Activity;
struct Lane;

// Seat is the place of one rank, of one deputy, or of one thread that a rank started, in a run: the
// rank, its fiber, and whether it can run.
struct Seat {
  enum class State : std::uint8_t {
    runnable,
    running,
    blocked,
    idle,  // a deputy without work
    finished
  };
  // Turn is the state of a rank towards the turn, in a run with several threads.
  enum class Turn : std::uint8_t {
    released,  // it was woken, and has not continued yet
    ahead,     // it runs without the turn
    waiting,   // it waits for the turn
    held       // it has the turn
  };

  Rank rank;
  boost::fibers::context* context = nullptr;
  Lane* lane = nullptr;
  const Activity* activity = nullptr;  // of a blocked rank
  LastOperation last_operation = {};
  const std::byte* stack_end = nullptr;  // its lowest address
  std::exception_ptr exception = nullptr;
  std::vector<std::shared_ptr<const void>> left = {};  // see Run::leave_to
  FiberIdentity identity = {};
  State state = State::runnable;
  // A rank that runs ahead may read them while a run that is interrupted ends.
  Relaxed<Turn> turn = Turn::released;
  Relaxed<bool> ended = false;  // the run has ended, and the rank unwinds
  std::uint8_t times_ended = 0;
  std::uint32_t suspended_at = 0;  // bytes above stack_end; 0 before its first turn
};

}  // namespace simmesh
