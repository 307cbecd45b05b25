#pragma once

#include <optional>
#include <string_view>

#include <simmesh/gate/fsdp_plan.h>
#include <simmesh/gate/training.h>

namespace simmesh {

// SyncMode says which micro-batches reduce gradients: every one, the last alone, or every one over
// the shards and the last also over the replicas.
enum class SyncMode : std::uint8_t { every, last, all_reduce_last };
std::optional<SyncMode> sync_from_string(std::string_view name);

// ShardedTraining is the form of a training run under fully_shard, on one rank. A plan without a
// mesh is one device. In exact arithmetic gradients are sums over the ranks (a divide factor of 1),
// else means, as by default; the result is the same but for rounding, and has the bits of one
// device in the first case.
class ShardedTraining {
 public:
  ShardedTraining(const FsdpPlan& plan, SyncMode sync);
  ParallelForm form();

 private:
  void before_micro_batch(nn::Module& model, bool is_last) const;

  const FsdpPlan* plan_;
  SyncMode sync_;
};

}  // namespace simmesh
