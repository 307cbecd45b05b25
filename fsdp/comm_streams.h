#pragma once

#include <vector>

#include "core/clock/stream.h"
#include "core/tensor/tensor.h"
#include "fsdp/stream_faults.h"

namespace simmesh::fsdp {

// CommStreams are the streams on which all groups of one communication context communicate, and the
// buffers that they hold: memory that one stream allocated and another one uses must not go back to
// the allocator before the first is ordered behind the second. What is held, and for how long, is
// in docs/fsdp.md; it is the same where no device is modelled.
//
// Before make, everything is on the stream that computes.
class CommStreams {
 public:
  // make makes the streams, once.
  void make();

  const Stream& copy_in() const { return copy_in_; }
  const Stream& all_gather() const { return all_gather_; }
  const Stream& reduce_scatter() const { return reduce_scatter_; }
  const Stream& all_reduce() const { return all_reduce_; }

  // wait_to_gather lets the streams that gather wait for an event.
  void wait_to_gather(const StreamEvent& event) const;

  // hold_gather keeps the gathered buffer of a forward, until the next one was copied out of its
  // own: that way copying out overlaps with the next gather. release_gather gives it up.
  void hold_gather(Tensor buffer, StreamEvent copied_out);
  void release_gather();

  // hold_reduce_input keeps the input of a reduction; recycle_reduce_inputs lets the current stream
  // wait for reductions, oldest first, until fewer than `count` inputs are held.
  void hold_reduce_input(Tensor input, StreamEvent reduced);
  void recycle_reduce_inputs(std::size_t count);

  // hold_all_reduce keeps the buffer of an all-reduce, which is of the pool of reduce_scatter, in
  // the place of an earlier one; release_all_reduce gives it up, as reduce_scatter waits for it.
  void hold_all_reduce(Tensor buffer, StreamEvent through);
  void release_all_reduce();

  // release_all ends a backward pass: the current stream waits for what is held.
  void release_all();

  StreamFaults& faults() { return faults_; }

 private:
  struct Held {
    Tensor buffer;
    StreamEvent until;
  };

  void release_held_all_reduces();

  Stream copy_in_, all_gather_, reduce_scatter_, all_reduce_;
  Held gather_;
  std::vector<Held> reduce_inputs_;
  std::vector<Held> all_reduces_;
  StreamFaults faults_;
  bool is_made_ = false;
};

}  // namespace simmesh::fsdp
