#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "collectives/process_group.h"
#include "collectives/work.h"
#include "zero/config/config.h"
#include "zero/engine/mean.h"
#include "zero/stage12/flat_partition.h"

namespace simmesh::zero {

// FlatGradients are the gradients of stages 1 and 2: they are collected in a bucket, in the order
// in which they come, averaged over the ranks when the bucket is full or flushed, and this rank's
// part of the result is added to its pieces. A bucket is full before the parameter that would make
// it larger than reduce_bucket_size elements; a larger parameter is reduced by itself.
//
// With reduce_scatter a bucket is divided by the number of ranks and all-reduced, or, without
// use_multi_rank_bucket_allreduce, reduced once to each rank that owns some of it. Without
// reduce_scatter it is all-reduced and divided around the sum, as gradient_predivide_factor says.
//
// With overlap_comm the reduction of one bucket runs while the next is filled. With
// contiguous_gradients gradients are copied into the bucket as they come; otherwise they are kept
// until the bucket is reduced.
//
// In exact arithmetic nothing is rounded before the last reduction.
class FlatGradients {
 public:
  // The partition must outlive this object. Names are those of all parameters, by their indices;
  // reports of ranks that reduce different ones together have them.
  FlatGradients(FlatPartition& partition, const Config& config, const ProcessGroup& group,
                std::vector<std::string> names);

  // add puts a gradient of a parameter into the bucket; it may come any number of times.
  void add(std::size_t parameter, const Tensor& gradient);
  // flush reduces the bucket and waits until all of it is added to the pieces.
  void flush();

  // drop drops the gradients of all pieces.
  void drop();

  // bucket_bytes are the bytes of the bucket: of its buffers with contiguous_gradients.
  std::int64_t bucket_bytes() const;

 private:
  // A chunk is reduced by one collective: segments one after another in a flat tensor.
  struct Chunk {
    std::vector<FlatSegment> segments;
    std::vector<Tensor> parts;  // of the gradients
    std::int64_t numel = 0;
    bool fills_buffer = false;  // the parts are the begin of the buffer
  };
  struct Pending {
    std::vector<FlatSegment> segments;
    Tensor input;  // which the reduction reads until it has ended
    Work work;
  };

  DType bucket_dtype(const Tensor& gradient) const;
  void put(const FlatSegment& segment, Tensor part, Chunk& chunk);
  void reduce_bucket();
  void reduce_large(std::size_t parameter, const Tensor& gradient);
  void reduce_to_owners(const Chunk& chunk);
  void start(const Chunk& chunk);
  void finish_oldest();
  Tensor flat_of(const Chunk& chunk) const;
  std::string contents_of(const Chunk& chunk) const;
  void take(const std::vector<FlatSegment>& segments, const Tensor& reduced);

  FlatPartition& partition_;
  ProcessGroup group_;
  std::vector<std::string> names_;
  ZeroOptimization zero_;
  std::int64_t capacity_;  // of the bucket: no more than one gradient of each parameter
  std::optional<DType> communication_dtype_, accumulation_dtype_;
  MeanOf mean_;
  std::optional<DType> dtype_;  // of the bucket, if it isn't empty
  Chunk bucket_;
  // With contiguous_gradients: the buffer that is being filled, and with overlap_comm the previous
  // one, which may still be reduced.
  std::array<Tensor, 2> buffers_;
  std::deque<Pending> pending_;
};

}  // namespace simmesh::zero
