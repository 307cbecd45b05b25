#pragma once

#include <cstdint>

namespace simmesh::fsdp {

// AllReduceBuffer says until when the buffer of an all-reduce among replicas is held where nothing
// else refers to it. Only the last of them is right: the others are what PyTorch did in versions
// that corrupted gradients (dropped, until_all_reduce) or held a buffer a layer (until_finalize).
enum class AllReduceBuffer : std::uint8_t {
  dropped,
  until_all_reduce,
  until_finalize,
  until_gradients
};

// StreamFaults leave out what keeps streams and the allocator safe, one thing each, so that tests
// can see that the checker of races, or a figure of the allocator, tells.
struct StreamFaults {
  // Gathers don't wait for what changed the shards.
  bool skips_root_wait = false;
  // Parameters are copied out without a wait for the gather.
  bool skips_gather_wait = false;
  // The buffer of a gather is given up without a wait for the copy out of it.
  bool skips_copy_out_wait = false;
  // A reduction doesn't wait for its input.
  bool skips_reduce_wait = false;
  // The input of a reduction is given up while it is read.
  bool drops_reduce_input = false;
  // The input is allocated from the pool of the stream that reduces.
  bool reduce_input_on_other_pool = false;
  // Only the last group of a module gives inputs up.
  bool only_last_group_recycles = false;
  // A group's reduction doesn't wait for the end of its earlier one.
  bool skips_own_reduction_wait = false;
  // Backward ends without a wait for the reductions.
  bool skips_final_wait = false;
  AllReduceBuffer all_reduce_buffer = AllReduceBuffer::until_gradients;
  // Hooks see gradients on the host that are still being copied; so does the optimiser.
  bool skips_offload_wait = false;
  // The buffers of asynchronous gathers are given up at once, by record_stream.
  bool records_streams = false;
  // What was kept of parameters after forward, on a smaller mesh, is kept for ever.
  bool keeps_post_forward_shards = false;
};

}  // namespace simmesh::fsdp
