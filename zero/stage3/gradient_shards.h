#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/work.h"
#include "zero/stage3/partitioned_params.h"
#include "zero/stage3/quantized_reduce.h"

namespace simmesh::zero {

// ReduceSettings are the settings of reductions in stage 3.
struct ReduceSettings {
  std::int64_t bucket_size = 500'000'000;  // elements
  bool reduce_scatter = true;
  bool overlaps = false;  // a reduction runs while the next bucket is filled
  bool averages = true;   // divides by the number of ranks before the sum
  // Set for zero_quantized_gradients: gradients that allow it are reduced in 4 bits, in two hops,
  // each by itself.
  std::optional<NodeGroups> quantizing_nodes = {};
  std::optional<DType> communication = {};  // by default the parameter's dtype
  std::optional<DType> accumulation = {};   // over micro-batches; by default the parameter's dtype
  bool is_offloaded = false;                // shards of gradients are in the host's memory
};

// GradientShards are the gradients of stage 3: those of a backward pass are collected in a bucket,
// which is reduced over the ranks when it is full or the pass ends, and each rank adds its part of
// the result to its shard of the gradient. A bucket closes before the parameter that would make it
// larger than its size, if it isn't empty. Each dtype of communication has a bucket of its own.
//
// With reduce_scatter a bucket is one reduce-scatter of W times the sum of the shards, parameters
// in ascending order; without, one all-reduce of its elements, in the order in which they came. A
// parameter larger than the bucket always goes by reduce-scatter.
class GradientShards {
 public:
  GradientShards(PartitionedParams& params, const ReduceSettings& settings);

  // add puts the gradient of a parameter into the bucket, undefined for zeros.
  void add(ParamId param, Tensor gradient);
  // flush reduces the bucket, and waits for all reductions.
  void flush();

  // of returns this rank's shard of a gradient in the dtype of accumulation, flat, without padding;
  // undefined where nothing was reduced since the last clear. In exact arithmetic it keeps its
  // unrounded sums.
  const Tensor& of(ParamId param) const { return shards_[std::size_t(param)]; }
  void clear();
  bool is_empty() const;

  // bucket_bytes are the bytes of the gradients that wait in the bucket or are being reduced,
  // shard_bytes those of the shards.
  std::int64_t bucket_bytes() const;
  std::int64_t shard_bytes() const;

 private:
  struct Entry {
    ParamId param;
    Tensor gradient;
  };

  // A started reduction: the places of this rank's parts in its result.
  struct Pending {
    struct Part {
      ParamId param;
      std::int64_t offset;
    };
    std::vector<Part> parts;
    Tensor input;  // which the reduction reads until it has ended
    Work work;
  };

  DType communication_dtype(ParamId param) const;
  // A bucket collects the gradients that are reduced in one dtype.
  struct Bucket {
    std::vector<Entry> entries;
    std::int64_t numel = 0;
  };
  void reduce_bucket(Bucket& bucket);
  void finish_oldest();
  void take(const std::vector<Pending::Part>& parts, const Tensor& reduced);
  void reduce_quantized_ones(Bucket& bucket);
  // Returns the names of the parameters in the bucket.
  std::string contents_of(const Bucket& bucket) const;
  void reduce_scatter_bucket(Bucket& bucket);
  void all_reduce_bucket(Bucket& bucket);
  void put_shards(Tensor& flat, const Entry& entry, std::int64_t row, std::int64_t offset) const;
  void divide(Tensor& flat) const;
  void add_to_shard(ParamId param, const Tensor& reduced);

  PartitionedParams& params_;
  ReduceSettings settings_;
  std::map<std::string_view, Bucket> buckets_;  // by the name of the dtype
  std::deque<Pending> pending_;
  std::vector<Tensor> shards_;
};

}  // namespace simmesh::zero
