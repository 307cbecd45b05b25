#pragma once

#include "replay/timeline/kineto_rank.h"

namespace simmesh::replay {

// link_launches joins the spans of a rank, which have their times: each span of the device gets the
// innermost operator that its launching call lies in (or the call itself), by the correlation of
// kernel and call, and NCCL's kernels get their communication: what the kernel says, else the
// operator "record_param_comms" or the annotation "nccl:..." around the call. Spans stay where they
// are. TimelineComm::group is a place in KinetoRank::own_groups.
void link_launches(KinetoRank& rank);

}  // namespace simmesh::replay
