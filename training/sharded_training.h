#pragma once

#include <optional>
#include <string_view>

#include "training/fsdp_plan.h"
#include "training/training.h"

namespace simmesh {

// SyncMode says which micro-batches reduce gradients: every one, the last alone, or every one over
// the shards and the last also over the replicas.
enum class SyncMode : std::uint8_t { every, last, all_reduce_last };
std::optional<SyncMode> sync_from_string(std::string_view name);
std::string_view to_string(SyncMode mode);

// ShardedSettings are the switches of sharded modules, for all modules alike.
struct ShardedSettings {
  SyncMode sync = SyncMode::every;
  // Each module's parameters are gathered while the one that is so many before it, in order of the
  // model, runs forward (or so many after it, backward). 0 leaves PyTorch's order: none in forward,
  // in backward what ran before.
  std::int64_t forward_prefetch = 0;
  std::int64_t backward_prefetch = 0;
  // false: parameters stay gathered from one micro-batch to the next.
  bool reshard_after_backward = true;
  // What sums of gradients are divided by; by default the number of ranks, as in PyTorch.
  std::optional<double> gradient_divide_factor = {};
  bool force_sum_reduction = false;
  bool reduces_unused_params = false;
  // Rows are cut over the dims that fully_shard gets instead of over all ranks.
  bool cuts_over_mesh = false;
};

// ShardedTraining is the form of a training run under fully_shard, on one rank. A plan without a
// mesh is one device. Each part's loss is scaled by the divide factor, so that no factor changes
// the gradients but for rounding. In exact arithmetic, where no factor is given or it is 1, they
// have the bits of one device.
class ShardedTraining {
 public:
  ShardedTraining(const FsdpPlan& plan, const ShardedSettings& settings);
  // form adds what sharding needs to a form; its prepare is called after the model is sharded.
  ParallelForm form(ParallelForm given = {});

 private:
  void set_up(nn::Module& model) const;
  void set_prefetch(nn::Module& model) const;
  void before_micro_batch(nn::Module& model, bool is_last) const;
  bool sums_gradients() const;

  const FsdpPlan* plan_;
  ShardedSettings settings_;
};

}  // namespace simmesh
