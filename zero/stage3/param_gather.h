#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/work.h"
#include "zero/stage3/partitioned_param.h"

namespace simmesh::zero {

// GatherOptions select how parameters are gathered.
struct GatherOptions {
  bool one_by_one = false;     // allgather_sequential: a collective for each
  bool by_all_reduce = false;  // use_all_reduce_for_fetch_params: several by one all-reduce
  bool lowers = false;         // in the lower_dtype of each
  // zero_quantized_weights and zero_quantized_nontrainable_weights: all, or those that require no
  // gradient, in 8 bits, whatever the other options.
  bool quantizes_all = false;
  bool quantizes_frozen = false;
};

// PendingGather is a gather that was started.
class PendingGather {
 public:
  virtual ~PendingGather() = default;
  // finish waits and gives all members their elements. A second time it does nothing.
  virtual void finish() = 0;
};

// ParamGather is one gather of parameters that were not available, from start to the last use.
// - Of one parameter: an all-gather of W times the shard, whose buffer the parameter keeps.
// - Of several: one all-gather of a flat buffer, in which rank r's slot has its shards of all.
//   finish copies each parameter out of it, and it is freed when the last member has released it.
// - Of several by all-reduce: one buffer with the own shards and zeros, of which the parameters are
//   views. The zeros are negative, so that the sum keeps every bit.
// - One by one: several of the first kind, with one handle.
//
// Parameters of different dtypes have buffers and collectives of their own. What is gathered in a
// lower dtype is copied into a buffer of the parameter's. In a group of one rank
// there is no communication: the shard is the parameter.
class ParamGather final : public PendingGather {
 public:
  // Starts the collectives in the order of the members. Either all members have a current secondary
  // shard, which is gathered in the small group, or all are gathered from their shards in the whole
  // group.
  ParamGather(const std::vector<PartitionedParam*>& members, const PartitionGroups& groups,
              bool from_secondary, const GatherOptions& options);

  void finish() override;

 private:
  // One collective and the parameters that it gathers.
  struct Part {
    std::vector<PartitionedParam*> members;
    std::int64_t slot = 0;  // elements of one rank
    bool is_reduced = false;
    Tensor output = {};
    Work work = {};
  };

  const Tensor& input_of(const PartitionedParam& param) const;
  DType dtype_of(const PartitionedParam& param) const;
  void start(std::vector<PartitionedParam*> members);
  void start_all_gather(Part& part);
  void start_all_reduce(Part& part);
  void finish(Part& part);
  void copy_out(const Part& part) const;

  const PartitionGroups& groups_;
  const ProcessGroup& group_;
  bool from_secondary_;
  GatherOptions options_;
  std::vector<Part> parts_;
  bool is_finished_ = false;
};

// gathered_bytes returns the bytes of the distinct buffers that hold gathered data of this rank.
std::int64_t gathered_bytes();

}  // namespace simmesh::zero
