#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/ranks/observer_scope.h"
#include "zero/fetch/param_status.h"

namespace simmesh::zero {

// TraceMode is the coordinator's knowledge of the order of modules: none (INVALID), the part
// recorded so far (RECORD), or all of an iteration (COMPLETE).
enum class TraceMode : std::uint8_t { invalid, record, complete };
std::string_view to_string(TraceMode mode);

// EventKind is an action of stage 3 on one rank; docs/zero.md has the meaning of each.
enum class EventKind : std::uint8_t {
  reset,          // a forward of the root begins; the state is the one before
  enter,          // a module is entered, after the trace was compared with it
  fetch,          // a gather of the parameters that the module needs
  prefetch,       // a gather for later modules
  wait,           // a module waited for a parameter of its own that was in flight
  copy_out,       // a gather of several was waited for and its members were copied from it
  blocking,       // parameters that were gathered at once, outside of the trace
  entered,        // the module has what it needs
  leave,          // a module is left
  release,        // the whole of a parameter is dropped
  left,           // the module has released everything that it releases
  invalidate,     // the module about to be entered doesn't continue the trace
  external,       // a parameter becomes an external one of a module
  leftovers,      // backward ended; modules that were entered backward and never left
  gradient,       // a gradient enters the bucket
  gradients_end,  // the bucket is reduced
  step,           // an optimiser step begins; everything is released
  collective,     // a collective starts
};
std::string_view to_string(EventKind kind);

// Event is one entry of a rank's record. Fields that a kind doesn't have keep their defaults.
struct Event {
  EventKind kind;
  std::int64_t step = 0;  // module entries so far in this iteration
  ModuleId module = -1;
  Pass pass = Pass::forward;
  TraceMode mode = TraceMode::invalid;
  std::vector<ParamId> params = {};    // of gathers and releases, ascending in a gather
  std::vector<ModuleId> modules = {};  // of leftovers, oldest first
  std::int64_t available = 0;          // elements counted as available
  std::int64_t queue_length = 0;       // of the prefetch queue
  std::int64_t order_length = 0;       // modules in the recorded order
  // For a collective: its name in PyTorch, the elements of this rank's input and their dtype.
  std::string_view name = {};
  std::int64_t numel = 0;
  std::string_view dtype = {};
  std::vector<std::int64_t> ranks = {};  // where the group isn't the whole
  std::int64_t bytes = 0;                // of gathered data that are held
  std::uint64_t gather = 0;              // of a wait: the number of the gather
};

// to_string writes an event in a line: "fetch at step 1: parameters 3, 4". Counts and bytes have
// commas. It never fails, whatever the event carries.
std::string to_string(const Event& event);

// An ObserverScope lets an observer see the events of its rank. is_observed says whether anybody
// does; emit tells all observers.
using ObserverScope = simmesh::ObserverScope<Event>;
inline bool is_observed() { return ObserverScope::is_observed(); }
inline void emit(const Event& event) { ObserverScope::emit(event); }

}  // namespace simmesh::zero
