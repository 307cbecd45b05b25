#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "collectives/collectives.h"
#include "fsdp/comm_streams.h"
#include "fsdp/divide_factors.h"
#include "fsdp/param.h"

namespace simmesh::fsdp {

// ReduceScatter is how a group scatters: it gets the flat input and returns this rank's part of the
// reduction over the group.
using ReduceScatter =
    std::function<Tensor(const Tensor& input, ReduceWith reduce, const ProcessGroup& group)>;
// AllReduceHook may change the reduced flat buffer in place, before it is divided at the end.
using AllReduceHook = std::function<void(Tensor& reduced)>;

// ParamGrad is a parameter with the gradient that is reduced.
struct ParamGrad {
  FSDPParam* param;
  Tensor grad;
};

// PartialReduction is what reduce-scatters without all-reduce left: flat and padded.
struct PartialReduction {
  Tensor flat;
};

// ReduceSetting is how a group reduces.
struct ReduceSetting {
  const FSDPParamGroup* group;  // for events
  const MeshInfo* mesh;
  DType orig_dtype;
  std::optional<DType> reduce_dtype;
  std::optional<double> divide_factor;
  // Gradients are multiplied by what they are divided by later: in exact arithmetic, where neither
  // rounds.
  bool sums_gradients = false;
  bool force_sum = false;
  bool all_reduces = true;
  bool has_own_group = false;  // reduce-scatters don't queue behind gathers
  const ReduceScatter* reduce_scatter = nullptr;
  const AllReduceHook* hook = nullptr;
  CommStreams* streams = nullptr;
};

// reduce_gradients brings each parameter the part of its gradient that belongs to its shard: rank k
// gets the rows k*c .. of each gradient in order, padded with zeros. Where it doesn't all-reduce,
// the result is added to `partial`, else that is added to it first. The input is put together on
// the current stream, which reads it and the gradients; all else is on the context's streams.
// In exact arithmetic what isn't rounded goes through all of it: a gradient is rounded once, at the
// end, to the dtype of the shard.
// Returns the event after which the gradients are there.
StreamEvent reduce_gradients(std::vector<ParamGrad> gradients, const ReduceSetting& setting,
                             std::optional<PartialReduction>& partial);

}  // namespace simmesh::fsdp
