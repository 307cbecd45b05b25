#pragma once

#include <optional>
#include <vector>

#include "fsdp/communication/comm_streams.h"
#include "fsdp/communication/communication.h"
#include "fsdp/communication/divide_factors.h"
#include "fsdp/param/partial_sums.h"

namespace simmesh::fsdp {

// ReduceSetting is how a group reduces.
struct ReduceSetting {
  const FSDPParamGroup& group;  // for events
  const FSDPState& state;
  CallSite site;  // which reports show
  const MeshInfo& mesh;
  CommStreams& streams;
  const ReduceScatter& reduce_scatter;
  const AllReduceHook& hook;
  std::optional<double> divide_factor;
  // Gradients are multiplied by what they are divided by later: in exact arithmetic, where neither
  // rounds.
  bool sums_gradients = false;
  bool force_sum = false;
  bool all_reduces = true;
  bool has_own_group = false;  // reduce-scatters don't queue behind gathers
};

// reduce_gradients brings each parameter the part of its gradient that belongs to its shard: rank k
// gets the rows k*c .. of each gradient in order, padded with zeros. The dtype is what those in
// which the parameters' gradients add up, and that of `partial`, are promoted to. Over replicas,
// what waits in `partial` is added to the result; where the group doesn't all-reduce, that goes
// back there.
//
// The input is put together on the current stream, which reads the gradients; everything else is on
// the streams of the context. In exact arithmetic the sums go through all of it unrounded: a
// gradient is rounded once, at the end, to the dtype of the shard's gradients.
//
// Returns the event after which the gradients are there.
StreamEvent reduce_gradients(std::vector<ParamGrad> gradients, const ReduceSetting& setting,
                             PartialSums& partial);

}  // namespace simmesh::fsdp
