#pragma once

#include <string>

#include "collectives/collective_call.h"
#include "collectives/host_memory.h"

namespace simmesh {

// check_output raises for a tensor that can't take the only result of a call: a TypeError for
// another dtype, a ValueError for another shape. A size that depends on the other members is left
// open.
void check_output(const Tensor& output, const CollectiveCall& call, const Caller& caller);

// check_outputs raises the same errors for memory of the host, where shapes needn't agree but
// numbers of elements must; a ValueError for another number of outputs than there are results; and
// a ValueError for uneven pieces, whose sizes no member knows when it calls.
void check_outputs(const HostMemory& memory, const CollectiveCall& call, const Caller& caller);

// disagreement_on_outputs returns in words the difference between an output of one member and the
// operand of the other that it takes, in collectives of lists; empty if there is none. The calls
// agree otherwise.
struct MemberMemory {
  std::size_t member;
  const HostMemory& memory;
};
std::string disagreement_on_outputs(const CollectiveCall& call, const MemberMemory& a,
                                    const MemberMemory& b);

}  // namespace simmesh
