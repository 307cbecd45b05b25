#pragma once

#include <vector>

#include "core/clock/stream.h"
#include "core/tensor/tensor.h"

namespace simmesh::fsdp {

class FSDPState;

// CommStreams are the streams on which all groups of one communication context communicate, the
// waits that order them, and the buffers that they hold: memory that one stream allocated and
// another one uses must not be freed before the first stream waits for the second. The tables under
// "Streams and buffers" in docs/fsdp.md have a row for each function below. Without a modelled
// device the same buffers are held, and the waits do nothing.
//
// The functions are virtual so that a test can leave one of them out and see that the race checker
// or a figure of the allocator reports it. The library itself has no other implementation.
class CommStreams {
 public:
  CommStreams() = default;
  virtual ~CommStreams() = default;
  CommStreams(const CommStreams&) = delete;
  CommStreams& operator=(const CommStreams&) = delete;

  // make makes the streams, once. Before that, everything is on the stream that computes.
  void make();

  const Stream& copy_in() const { return copy_in_; }
  const Stream& all_gather() const { return all_gather_; }
  const Stream& reduce_scatter() const { return reduce_scatter_; }
  const Stream& all_reduce() const { return all_reduce_; }

  // wait_for_shards makes both gathering streams wait until shards are up to date: at the begin of
  // a forward of the root, and after a forward that left shards on a smaller mesh.
  virtual void wait_for_shards(const StreamEvent& up_to_date);
  // wait_for_gather makes the current stream wait for a gather, before it copies parameters out.
  virtual void wait_for_gather(const StreamEvent& gathered);
  // wait_for_copy_out makes both gathering streams wait before the buffer that was copied out of is
  // given up.
  virtual void wait_for_copy_out(const StreamEvent& copied_out);

  // hold_gather keeps the gathered buffer of a forward until the next one was copied out of its own
  // buffer, so that copying out overlaps with the next gather. release_gather gives it up;
  // release_gather_at_end does so where gathers wait for the current stream before the next one.
  void hold_gather(Tensor buffer, StreamEvent copied_out);
  void release_gather();
  void release_gather_at_end();

  // wait_for_reduce_input makes reduce_scatter wait for the copies that the current stream made
  // into the input of a reduction.
  virtual void wait_for_reduce_input();
  // ReduceInput is the input of a reduction, of a group of a state: memory of the stream that
  // filled it, which is read until an event.
  struct ReduceInput {
    Tensor buffer;
    StreamEvent reduced;
    Stream allocated_on;
    const FSDPState* state;
  };
  // hold_reduce_input keeps such an input; recycle_reduce_inputs makes the stream that allocated
  // it, and the current one, wait for reductions, oldest first, until fewer than `count` inputs are
  // held. reduce_inputs are those that are held.
  virtual void hold_reduce_input(ReduceInput input);
  virtual void recycle_reduce_inputs(std::size_t count);
  const std::vector<ReduceInput>& reduce_inputs() const { return reduce_inputs_; }

  // wait_for_earlier_reduction makes the current stream wait for a group's last reduction before
  // the group reduces again; wait_for_last_reduction before the gradients are used, at the end of
  // backward.
  virtual void wait_for_earlier_reduction(const StreamEvent& reduced);
  virtual void wait_for_last_reduction(const StreamEvent& reduced);
  // wait_for_offload makes the host wait for a gradient that is copied to it.
  virtual void wait_for_offload(const StreamEvent& offloaded);

  // AllReduceBuffer is the buffer of an all-reduce, memory of the pool of reduce_scatter, with the
  // events after which the all-reduce has read it and the gradients have been taken from it.
  struct AllReduceBuffer {
    Tensor buffer;
    StreamEvent all_reduced;
    StreamEvent gradients_taken;
  };
  // hold_all_reduce keeps such a buffer; release_all_reduce gives up those that are held, once
  // reduce_scatter waits until their gradients have been taken.
  virtual void hold_all_reduce(AllReduceBuffer buffer);
  virtual void release_all_reduce();

  // release_all ends a backward pass: the current stream waits for everything that is held.
  void release_all();

 protected:
  // hold_until keeps a buffer in the place of an all-reduce's until an event.
  void hold_until(Tensor buffer, StreamEvent until);

 private:
  struct Held {
    Tensor buffer;
    StreamEvent until;
  };

  void release_reduce_inputs(std::size_t count);
  void release_held();

  Stream copy_in_, all_gather_, reduce_scatter_, all_reduce_;
  Held gather_;
  std::vector<ReduceInput> reduce_inputs_;
  std::vector<Held> all_reduces_;
  bool is_made_ = false;
};

}  // namespace simmesh::fsdp
