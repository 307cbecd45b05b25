#include "fsdp/comm_streams.h"

#include <utility>

namespace simmesh::fsdp {

void CommStreams::make() {
  if (std::exchange(is_made_, true)) return;
  copy_in_ = Stream::make("all_gather_copy_in");
  all_gather_ = Stream::make("all_gather");
  reduce_scatter_ = Stream::make("reduce_scatter");
  all_reduce_ = Stream::make("all_reduce");
}

void CommStreams::wait_to_gather(const StreamEvent& event) const {
  copy_in_.wait(event);
  all_gather_.wait(event);
}

void CommStreams::hold_gather(Tensor buffer, StreamEvent copied_out) {
  gather_ = {std::move(buffer), std::move(copied_out)};
}

void CommStreams::release_gather() {
  if (!gather_.buffer.is_defined()) return;
  if (!faults_.skips_copy_out_wait) wait_to_gather(gather_.until);
  gather_ = {};
}

void CommStreams::hold_reduce_input(Tensor input, StreamEvent reduced) {
  if (!faults_.drops_reduce_input) reduce_inputs_.push_back({std::move(input), std::move(reduced)});
}

void CommStreams::recycle_reduce_inputs(std::size_t count) {
  while (!reduce_inputs_.empty() && reduce_inputs_.size() >= count) {
    Stream::current().wait(reduce_inputs_.front().until);
    reduce_inputs_.erase(reduce_inputs_.begin());
  }
}

void CommStreams::hold_all_reduce(Tensor buffer, StreamEvent through) {
  if (faults_.all_reduce_buffer != AllReduceBuffer::dropped)
    all_reduces_.push_back({std::move(buffer), std::move(through)});
}

void CommStreams::release_all_reduce() {
  if (faults_.all_reduce_buffer != AllReduceBuffer::until_finalize) release_held_all_reduces();
}

void CommStreams::release_held_all_reduces() {
  for (const Held& held : all_reduces_) reduce_scatter_.wait(held.until);
  all_reduces_.clear();
}

void CommStreams::release_all() {
  recycle_reduce_inputs(1);
  release_held_all_reduces();
}

}  // namespace simmesh::fsdp
