#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collectives/process_group.h"
#include "core/check/call_site.h"
#include "core/tensor/tensor.h"

namespace simmesh {

class HostMemory;
struct CollectiveCall;
struct WorkState;

// Work is the handle of a collective, send or receive that was started and not waited for. The
// operands were taken as they were at the start: writing to them later changes nothing. A Work that
// is dropped stays in its group until it completes.
//
//   Work work = all_gather_async(shard, {.dim = 0}, group);
//   Tensor y = mul(x, x);   // meanwhile
//   Tensor whole = work.wait();
class Work {
 public:
  Work() = default;
  explicit Work(std::shared_ptr<WorkState> state) : state_(std::move(state)) {}

  // is_completed is true if wait would return at once. That depends on the schedule, so the
  // schedule chooses first, and the explorer tries both answers.
  bool is_completed(CallSite site = CallSite::here()) const;

  // has_completed is true if the operation has completed by now. It is no point of the schedule, so
  // a program that acts on it has other results under another schedule.
  bool has_completed() const;

  // wait blocks until the operation has completed and returns its result: the first of several,
  // undefined if it has none. A second wait returns the same.
  Tensor wait(CallSite site = CallSite::here());
  // wait_all returns all results: of list and coalesced forms.
  const std::vector<Tensor>& wait_all(CallSite site = CallSite::here());

  // wait_until waits for a deadline in the run's time, at the latest. It returns false if the
  // operation hasn't completed then; it may be waited for again.
  bool wait_until(double deadline_seconds, CallSite site = CallSite::here());

  // source returns the sender of a received message, by its index in the group; nothing before the
  // wait and for other operations.
  std::optional<std::int64_t> source() const;

 private:
  void take();
  bool complete_by(std::optional<double> deadline_seconds, const CallSite& site);

  std::shared_ptr<WorkState> state_;
};

// run_collective joins the group's next collective, blocks until it completes and returns this
// member's results. Costs one suspend and one wake.
std::vector<Tensor> run_collective(const ProcessGroup& group, const CollectiveCall& call);

// run_collective_for_one does the same for a call with at most one result: undefined for none.
Tensor run_collective_for_one(const ProcessGroup& group, const CollectiveCall& call);

// run_collective_for_none does the same for a barrier.
void run_collective_for_none(const ProcessGroup& group, const CollectiveCall& call);

// run_collective_into lets target, of the type of the only result, take the result's elements: no
// storage is made for it.
void run_collective_into(Tensor& target, const ProcessGroup& group, const CollectiveCall& call);

// StartOptions are the options of a started collective.
struct StartOptions {
  // The tensor that takes the elements of the only result, when that is waited for. A device writes
  // it from the start on.
  Tensor into = {};
  // A simulated device runs the collective on the current stream, and not on one of the
  // communicator, for which wait lets the current one wait.
  bool on_current_stream = false;
  // The host's memory that has the operands and results: see start_collective_on.
  std::shared_ptr<const HostMemory> host = {};
};

// start_collective joins without blocking.
Work start_collective(const ProcessGroup& group, const CollectiveCall& call,
                      StartOptions options = {});

}  // namespace simmesh
