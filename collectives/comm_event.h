#pragma once

#include <cstdint>
#include <gsl/span>

#include "collectives/collective_call.h"
#include "collectives/process_group.h"
#include "core/engine/ranks/watch.h"

namespace simmesh {

struct WorkState;

// CommEvent is a collective, a message or a wait of one rank. The ObserverScopes of a rank that is
// watched get it (see Watch). An operation that blocks has one event, when it has completed. One
// that doesn't block has an event when it was started, with its Work, and another for the wait.
struct CommEvent {
  enum class Kind : std::uint8_t { collective, send, receive, wait };

  Kind kind;
  const ProcessGroup& group;
  // For a collective: its call, and its number in the group, from 0 on.
  const CollectiveCall* call = nullptr;
  std::uint64_t sequence = 0;
  // For a message: the peer's index within the group, -1 where it isn't known yet, and the tag.
  std::int64_t peer = -1;
  std::int64_t tag = 0;
  // The operation that was started, or is waited for; null for one that blocks.
  const WorkState* work = nullptr;
  // The rank's operands and results. A started operation has as its result the tensor that will
  // take it, if there is one; its wait has the results.
  gsl::span<const Tensor> inputs = {};
  gsl::span<const Tensor> results = {};
  // For a receive that was started, the type of its result.
  DType dtype = DType::float32;
  DimSpan shape = {};
};

// tell passes the event to the observers of the rank that runs. Callers ask Watch::is_on first.
void tell(const CommEvent& event);

}  // namespace simmesh
