#pragma once

#include "collectives/process_group.h"
#include "fsdp/communication/communication.h"

namespace simmesh::fsdp {

// process_group_memory returns what allocates from the memory pool of a process group, as
// ProcessGroup.allocate_tensor does over NCCL: its communicator registers these segments once, and
// nothing else may lie in them, so the device reserves them besides those of its streams. All that
// allocate for one group share its pool. Where no device is modelled it is memory as any other.
CommAllocate process_group_memory(const ProcessGroup& group);

}  // namespace simmesh::fsdp
