#pragma once

#include "collectives/process_group.h"
#include "fsdp/communication/communication.h"

namespace simmesh::fsdp {

// process_group_memory returns an allocator from the memory pool of a process group, as
// ProcessGroup.allocate_tensor over NCCL: its communicator registers these segments once, and
// nothing else may be in them, so the device reserves them besides those of its streams. All that
// allocate for one group share its pool. Without a modelled device it is ordinary memory.
CommAllocate process_group_memory(const ProcessGroup& group);

}  // namespace simmesh::fsdp
