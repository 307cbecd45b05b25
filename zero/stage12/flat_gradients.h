#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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
// it larger than reduce_bucket_size elements; a larger parameter is reduced by itself. Each dtype
// in which gradients are reduced has a bucket of its own.
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
  // Parameters are facts about all parameters, by their indices: names, which reports of ranks that
  // reduce different ones together have, the dtypes of torch_autocast (zero/engine/
  // lower_dtypes.h), and whether gradients are added up and never divided.
  struct Parameters {
    std::vector<std::string> names;
    std::vector<std::optional<DType>> lower_dtypes;
    bool adds_gradients = false;
  };

  // The partition must outlive this object.
  FlatGradients(FlatPartition& partition, const Config& config, const ProcessGroup& group,
                Parameters parameters);

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
    std::vector<FlatSegment> segments = {};
    std::vector<Tensor> parts = {};  // of the gradients
    std::int64_t numel = 0;
    DType dtype = DType::float32;  // of the reduction
  };
  // A bucket collects gradients of one dtype. With contiguous_gradients it has the buffer that is
  // being filled, and with overlap_comm the previous one, which may still be reduced.
  struct Bucket {
    Chunk chunk;
    std::array<Tensor, 2> buffers;
  };
  struct Pending {
    std::vector<FlatSegment> segments;
    Tensor input;  // which the reduction reads until it has ended
    Work work;
  };

  DType bucket_dtype(std::size_t parameter, const Tensor& gradient) const;
  void put(const FlatSegment& segment, const Tensor& part, Bucket& bucket) const;
  DType kept_dtype(std::size_t parameter, const Tensor& gradient) const;
  // Returns a flat tensor divided for the reduction, in its dtype.
  Tensor begun(const Tensor& flat, DType dtype) const;
  static void put_part(const FlatSegment& segment, const Tensor& part, Chunk& chunk);
  void reduce_bucket(Bucket& bucket);
  void reduce_large(std::size_t parameter, const Tensor& gradient, DType dtype);
  void reduce_to_owners(const Chunk& chunk);
  void start(const Chunk& chunk, const Tensor& buffer = {});
  void finish_oldest();
  std::string contents_of(const Chunk& chunk) const;
  void take(const std::vector<FlatSegment>& segments, const Tensor& reduced);

  FlatPartition& partition_;
  ProcessGroup group_;
  Parameters parameters_;
  ZeroOptimization zero_;
  std::int64_t capacity_;  // of the bucket: no more than one gradient of each parameter
  std::optional<DType> communication_dtype_, accumulation_dtype_;
  MeanOf mean_;
  std::map<std::string_view, Bucket> buckets_;  // by the name of the dtype
  std::deque<Pending> pending_;
};

}  // namespace simmesh::zero
