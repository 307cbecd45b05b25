#pragma once

#include "core/engine/ranks/rank.h"

namespace simmesh {

// local_state returns the T of the rank that runs, made when it is first asked for and gone when
// the run ends; outside any World the thread's. It holds what a layer above keeps for a rank's
// program, such as its open scopes.
template <class T>
T& local_state() {
  if (Rank* rank = Rank::active()) return rank->state<T>();
  thread_local T outside;
  return outside;
}

}  // namespace simmesh
