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
  // Multiplies gradients by their later divisor: in exact arithmetic, where neither rounds.
  bool sums_gradients = false;
  bool force_sum = false;
  bool all_reduces = true;
  bool has_own_group = false;  // reduce-scatters don't queue behind gathers
};

// reduce_gradients gives each parameter the part of its gradient that belongs to its shard: rank k
// gets the rows k*c .. of each gradient in order, padded with zeros. The dtype is the promoted one
// of `partial` and of the dtypes in which the parameters' gradients add up. Over replicas, the sums
// in `partial` are added to the result; where the group doesn't all-reduce, the result goes back
// there.
//
// The current stream builds the input, and reads the gradients; everything else is on the streams
// of the context. In exact arithmetic the sums stay unrounded throughout: a gradient is rounded
// once, at the end, to the dtype of the shard's gradients.
//
// Returns the event after which the gradients are ready.
StreamEvent reduce_gradients(std::vector<ParamGrad> gradients, const ReduceSetting& setting,
                             PartialSums& partial);

}  // namespace simmesh::fsdp
