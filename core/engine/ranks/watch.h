#pragma once

#include "core/engine/ranks/rank.h"

namespace simmesh {

// Watch is a scope in which the ObserverScopes of its rank get the events of ops, collectives,
// messages, backward passes and annotations. Outside of such scopes nobody gets them, and each
// event costs one test. Scopes may be nested. A scope belongs to the rank that made it, and must
// end before the rank's body does.
class Watch {
 public:
  // Raises a RuntimeError outside World::run.
  Watch() : rank_(this_rank()) { ++rank_.counters()[open_watches]; }
  ~Watch() { --rank_.counters()[open_watches]; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Pause hides a part of the scope, for instance one that only serves a report. Operations that
  // begin in it must end in it.
  class Pause {
   public:
    Pause() : rank_(this_rank()), hidden_(rank_.counters()[open_watches]) {
      rank_.counters()[open_watches] = 0;
    }
    ~Pause() { rank_.counters()[open_watches] += hidden_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Rank& rank_;
    std::uint32_t hidden_;
  };

  // is_on is true if the rank that runs is watched.
  static bool is_on() {
    Rank* rank = Rank::active();
    return rank && rank->counters()[open_watches] != 0;
  }

  // The slot of Rank::counters that counts the open scopes.
  static constexpr std::size_t open_watches = Rank::counter_count - 1;

 private:
  Rank& rank_;
};

}  // namespace simmesh
