#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/check/call_site.h"
#include "core/engine/schedules/schedule.h"

namespace simmesh {

// Waitable is an operation for which a blocked rank waits. It is a virtual seam because the engine
// reports on operations of layers that it doesn't know. It is only asked when a run has failed.
class Waitable {
 public:
  virtual ~Waitable() = default;

  // group returns the group in words: "dp [0, 4]"; empty for none.
  virtual std::string group() const = 0;

  // operand returns the operand that a rank brings to the operation, or takes from it, in words:
  // "float32[4, 2]"; empty if there is none.
  virtual std::string operand(RankId rank) const = 0;

  // peer returns the other rank in an operation of two ranks, in words: "to rank 3, tag 7"; empty
  // for an operation of the whole group.
  virtual std::string peer() const { return {}; }

  // difference returns the first call of the group, or of its messages between two ranks, that some
  // made and others didn't, in lines: its number, and who made it where. Empty if nothing is known.
  virtual std::string difference() const { return {}; }

  // missing_ranks returns the ranks whose arrival would let the operation continue; empty if any
  // rank could.
  virtual std::vector<RankId> missing_ranks() const = 0;
};

// Activity is the operation that blocks a rank. It lives on the rank's stack while the rank is
// blocked.
struct Activity {
  const char* operation = "";
  const Waitable* waits_for = nullptr;  // null if nothing can be named
  std::uint64_t sequence = 0;
  CallSite site;
};

// describe returns the operation of a rank in words: "all_reduce #4 of dp [0, 4], float32[4, 2],
// train.cpp:42", or "send to rank 3, tag 7 of dp [0, 4], float32[4, 2], train.cpp:42".
std::string describe(const Activity& activity, RankId rank);

}  // namespace simmesh
