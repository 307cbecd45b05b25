#pragma once

#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <string>

#include "core/check/call_site.h"
#include "core/engine/schedules/schedule.h"

namespace simmesh {

// LastOperation is the one that a rank began last: a collective, send, receive or wait.
struct LastOperation {
  const char* name = nullptr;  // null before the first
  CallSite site;
};

// ReportedRun is what the watchdog and the reports of crashes ask of a run, on any thread, while
// its ranks stand still. It is a virtual seam because these stand below the run that they report
// on.
class ReportedRun {
 public:
  virtual ~ReportedRun() = default;

  // progress grows with each step of the schedule and each heartbeat.
  virtual std::uint64_t progress() const = 0;
  // running_rank is the one that has the turn; no_rank for none.
  virtual RankId running_rank() const = 0;
  // thread_of returns the thread that runs a rank; of no_rank the first.
  virtual pthread_t thread_of(RankId rank) const = 0;

  // Signal handlers ask these: no memory is allocated.
  virtual const LastOperation& last_operation(RankId rank) const = 0;
  virtual const std::string& reproduce_line() const = 0;
  // overflowed_stack_bytes returns the size of a stack where the address lies below one; else 0.
  virtual std::size_t overflowed_stack_bytes(const std::byte* address) const = 0;

  // describe_ranks says in one line each what all ranks but one are doing.
  virtual std::string describe_ranks(RankId except) const = 0;
};

}  // namespace simmesh
