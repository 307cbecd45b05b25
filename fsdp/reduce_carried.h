#pragma once

#include <optional>
#include <vector>

#include <simmesh/fsdp/reduce.h>

namespace simmesh::fsdp {

// reduce_carried_gradients is reduce_gradients in exact arithmetic: what the ranks add are the
// integers in which gradients are carried, divided and rounded once at the end. A run has then the
// bits of one device, however its batches are cut. All of it after the input is on the stream of
// reduce-scatters.
StreamEvent reduce_carried_gradients(std::vector<ParamGrad> gradients, const ReduceSetting& setting,
                                     std::optional<PartialReduction>& partial);

}  // namespace simmesh::fsdp
