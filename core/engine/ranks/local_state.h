#pragma once

#include "core/engine/ranks/rank.h"

namespace simmesh {

// local_state returns the T of the rank that runs, made when it is first asked for and gone when
// the run ends; outside any World the thread's. What a layer above remembers of a rank's program,
// such as the scopes it is in, lies there.
template <class T>
T& local_state() {
  if (Rank* rank = Rank::active()) return rank->state<T>();
  thread_local T outside;
  return outside;
}

}  // namespace simmesh
