#pragma once

#include <memory>

#include "collectives/collective_call.h"
#include "collectives/host_memory.h"
#include "collectives/point_to_point.h"
#include "collectives/work.h"

namespace simmesh {

// Operations on memory of the program around a World, for programs whose tensors aren't ours. They
// start without blocking, as PyTorch's do with async_op=True. The Work returns no tensor.

// AfterStart says whether the schedule chooses again once a collective has started, or the caller
// sees to that.
enum class AfterStart { yields, goes_on };

// start_collective_on joins the group's next collective with the operands of the memory; the inputs
// of the call are not looked at. Results are in the memory, in the order in which the blocking form
// returns them, and may be fewer.
Work start_collective_on(std::shared_ptr<const HostMemory> memory, const ProcessGroup& group,
                         const CollectiveCall& call, AfterStart after = AfterStart::yields);

// refuse_memory raises an Error again, with the words of the call that the memory was meant for.
[[noreturn]] void refuse_memory(const Error& error, const ProcessGroup& group,
                                const CollectiveCall& call);

// isend_from sends the only operand of the memory, and irecv_into receives into the only result.
// Sizes must agree, shapes needn't.
Work isend_from(std::shared_ptr<const HostMemory> memory, const SendTo& to,
                const ProcessGroup& group, CallSite site = CallSite::here());
Work irecv_into(std::shared_ptr<const HostMemory> memory, const ReceiveFrom& from,
                const ProcessGroup& group, CallSite site = CallSite::here());

}  // namespace simmesh
