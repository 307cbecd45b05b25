#pragma once

#include "replay/timeline/kineto_rank.h"

namespace simmesh::replay {

// link_launches joins the spans of a rank, which have their times: each span of the device gets the
// innermost operator that contains its launching call (or the call itself), by the correlation of
// kernel and call, and NCCL's kernels get their communication: from the kernel, else from the
// operator "record_param_comms" or the annotation "nccl:..." around the call. Communications on the
// host, such as "gloo:all_reduce", are their own; they are in the rank's only group if it has one.
// Spans keep their places. TimelineComm::group is a place in KinetoRank::own_groups.
void link_launches(KinetoRank& rank);

}  // namespace simmesh::replay
