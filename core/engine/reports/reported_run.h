#pragma once

#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <string>

#include "core/check/call_site.h"
#include "core/engine/schedules/schedule.h"

namespace simmesh {

// LastOperation is the operation that a rank began last: a collective, send, receive or wait.
struct LastOperation {
  const char* name = nullptr;  // null before the first
  CallSite site;
};

// ReportedRun is a run as the watchdog and the reports of crashes see it, on any thread, while its
// ranks stand still. It is a virtual seam because these are below the run that they report on.
class ReportedRun {
 public:
  virtual ~ReportedRun() = default;

  // progress grows with each step of the schedule and each heartbeat.
  virtual std::uint64_t progress() const = 0;
  // running_rank returns the rank that has the turn; no_rank for none.
  virtual RankId running_rank() const = 0;
  // thread_of returns the thread that runs a rank; for no_rank the first.
  virtual pthread_t thread_of(RankId rank) const = 0;

  // Signal handlers call these, so they allocate no memory.
  virtual const LastOperation& last_operation(RankId rank) const = 0;
  virtual const std::string& reproduce_line() const = 0;
  // overflowed_stack_bytes returns the size of a stack if the address is in the gap below it; else
  // 0.
  virtual std::size_t overflowed_stack_bytes(const std::byte* address) const = 0;

  // name_of_rank returns a rank, or a thread that a rank started, in words: "rank 3".
  virtual std::string name_of_rank(RankId rank) const = 0;
  // describe_ranks returns a line for each rank but one, with its activity.
  virtual std::string describe_ranks(RankId except) const = 0;
};

}  // namespace simmesh
