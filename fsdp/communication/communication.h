#pragma once

#include <functional>
#include <optional>

#include "collectives/collectives.h"
#include "core/clock/stream.h"

namespace simmesh::fsdp {

// Replacements of a group's collectives, and of the memory that they use, by the user. A function
// that isn't given leaves things as they are.

// CommAllocate returns memory for a flat buffer of a collective: contiguous, of the shape and dtype
// asked for. It is called on the stream that fills the buffer.
using CommAllocate = std::function<Tensor(const Shape& shape, DType dtype)>;

// AllGatherCall is the gather of a group. The input is this rank's part; the output, of all ranks'
// parts, is the buffer of CommAllocate, which then holds the input in its place; undefined without
// one.
struct AllGatherCall {
  const Tensor& input;
  Tensor output;
  const ProcessGroup& group;
  bool async_op = false;
};

// AllGather is how a group gathers. `call` returns the handle of the collective.
struct AllGather {
  std::function<Work(const AllGatherCall& call)> call = {};
  CommAllocate allocate = {};
};

// ReduceScatterCall is the reduction of a group. The output is the buffer of CommAllocate for this
// rank's part; undefined without one.
struct ReduceScatterCall {
  const Tensor& input;
  Tensor output;
  ReduceWith reduce;
  const ProcessGroup& group;
};

// ReduceScatter is how a group reduces over its shards. `call` returns this rank's part, which may
// be the output that it got.
struct ReduceScatter {
  std::function<Tensor(const ReduceScatterCall& call)> call = {};
  CommAllocate allocate = {};
};

// AllReduceHook may change a group's reduced flat buffer in place, before it is divided at the end:
// after the reduce-scatter, and among replicas after the all-reduce. It runs on the stream that
// all-reduces, or on the one given here.
struct AllReduceHook {
  std::function<void(Tensor& reduced)> call = {};
  std::optional<Stream> stream = {};
};

// allocated returns a buffer of the shape and dtype asked for. Raises a RuntimeError where
// `allocate` returns another one.
Tensor allocated(const CommAllocate& allocate, const Shape& shape, DType dtype);

}  // namespace simmesh::fsdp
