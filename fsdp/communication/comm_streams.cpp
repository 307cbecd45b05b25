#include "fsdp/communication/comm_streams.h"

#include <utility>

namespace simmesh::fsdp {

void CommStreams::make() {
  if (std::exchange(is_made_, true)) return;
  copy_in_ = Stream::make("all_gather_copy_in");
  all_gather_ = Stream::make("all_gather");
  reduce_scatter_ = Stream::make("reduce_scatter");
  all_reduce_ = Stream::make("all_reduce");
}

void CommStreams::wait_for_shards(const StreamEvent& up_to_date) {
  copy_in_.wait(up_to_date);
  all_gather_.wait(up_to_date);
}

void CommStreams::wait_for_gather(const StreamEvent& gathered) { Stream::current().wait(gathered); }

void CommStreams::wait_for_copy_out(const StreamEvent& copied_out) {
  copy_in_.wait(copied_out);
  all_gather_.wait(copied_out);
}

void CommStreams::hold_gather(Tensor buffer, StreamEvent copied_out) {
  gather_ = {std::move(buffer), std::move(copied_out)};
}

void CommStreams::release_gather() {
  if (!gather_.buffer.is_defined()) return;
  wait_for_copy_out(gather_.until);
  gather_ = {};
}

void CommStreams::release_gather_at_end() {
  if (!gather_.buffer.is_defined()) return;
  Stream::current().wait(gather_.until);
  gather_ = {};
}

void CommStreams::wait_for_reduce_input() { reduce_scatter_.wait(Stream::current()); }

void CommStreams::hold_reduce_input(ReduceInput input) {
  reduce_inputs_.push_back(std::move(input));
}

void CommStreams::recycle_reduce_inputs(std::size_t count) { release_reduce_inputs(count); }

void CommStreams::release_reduce_inputs(std::size_t count) {
  while (!reduce_inputs_.empty() && reduce_inputs_.size() >= count) {
    const ReduceInput& oldest = reduce_inputs_.front();
    oldest.allocated_on.wait(oldest.reduced);
    if (Stream::current() != oldest.allocated_on) Stream::current().wait(oldest.reduced);
    reduce_inputs_.erase(reduce_inputs_.begin());
  }
}

void CommStreams::wait_for_earlier_reduction(const StreamEvent& reduced) {
  Stream::current().wait(reduced);
}

void CommStreams::wait_for_last_reduction(const StreamEvent& reduced) {
  Stream::current().wait(reduced);
}

void CommStreams::wait_for_offload(const StreamEvent& offloaded) { offloaded.synchronize(); }

void CommStreams::hold_all_reduce(AllReduceBuffer buffer) {
  hold_until(std::move(buffer.buffer), std::move(buffer.gradients_taken));
}

void CommStreams::release_all_reduce() { release_held(); }

void CommStreams::hold_until(Tensor buffer, StreamEvent until) {
  all_reduces_.push_back({std::move(buffer), std::move(until)});
}

void CommStreams::release_held() {
  for (const Held& held : all_reduces_) reduce_scatter_.wait(held.until);
  all_reduces_.clear();
}

void CommStreams::release_all() {
  release_reduce_inputs(1);
  release_held();
}

}  // namespace simmesh::fsdp
