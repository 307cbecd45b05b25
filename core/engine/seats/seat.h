#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include "core/engine/ranks/rank.h"
#include "core/engine/schedules/reported_run.h"
#include "core/engine/seats/fiber_switch.h"

namespace boost::fibers {
class context;
}

namespace simmesh {

struct Activity;
struct Lane;
struct DeputyDesk;

// Seat is what a run keeps of one rank, or of a deputy: the rank, its fiber, and where it stands.
struct Seat {
  // idle: a deputy without work.
  enum class State : std::uint8_t { runnable, running, blocked, idle, finished };
  // Where a rank stands with several threads: woken but not resumed; running without the turn;
  // waiting for it; having it.
  enum class Turn : std::uint8_t { released, ahead, waiting, held };

  Rank rank;
  boost::fibers::context* context = nullptr;
  Lane* lane = nullptr;
  const Activity* activity = nullptr;  // of a blocked rank
  LastOperation last_operation = {};
  const std::byte* stack_end = nullptr;  // its lowest address
  std::exception_ptr exception = nullptr;
  FiberIdentity identity = {};
  State state = State::runnable;
  Turn turn = Turn::released;
  bool ended = false;  // to be unwound
  std::uint8_t times_ended = 0;
  std::uint32_t suspended_at = 0;              // bytes above stack_end; 0 before its first turn
  std::shared_ptr<DeputyDesk> desk = nullptr;  // of a deputy
};

}  // namespace simmesh
