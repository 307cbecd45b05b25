#pragma once

#include "core/clock/device_model.h"
#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// operator_work estimates the bytes and operations of an operator on its device, from the sizes of
// its tensors: bytes are those of its inputs and outputs; operations are counted for products,
// convolutions and attention, and are one an output element for the rest. Views, allocations and
// operators without a tensor on the device do nothing. device is a prefix: "cuda".
KernelWork operator_work(const ExecutionTrace& trace, const TraceNode& node,
                         std::string_view device);

// device_of returns the device of a trace's tensors: "cuda" for "cuda:1", "cpu" where there are no
// others.
std::string_view device_of(const ExecutionTrace& trace);

}  // namespace simmesh::replay
