#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/autograd/grad_dtype.h"
#include "training/fsdp_plan.h"
#include "training/training.h"

namespace simmesh {

// SyncMode selects the micro-batches that reduce gradients: every one, only the last one, or every
// one over the shards and the last one also over the replicas.
enum class SyncMode : std::uint8_t { every, last, all_reduce_last };
std::optional<SyncMode> sync_from_string(std::string_view name);
std::string_view to_string(SyncMode mode);

// BackwardEnd selects the end of a step's backward: its last pass, or a call of finalize_backward
// after that, which may be waited for later. The latter two exist since PyTorch 2.15.
enum class BackwardEnd : std::uint8_t { automatic, manual, async };
std::optional<BackwardEnd> backward_end_from_string(std::string_view name);
std::string_view to_string(BackwardEnd end);

// ShardedSettings are settings of fully_shard that are the same for all sharded modules.
struct ShardedSettings {
  SyncMode sync = SyncMode::every;
  // While a module runs forward, the parameters of this number of modules after it are gathered; in
  // backward, those of modules before it. 0 is PyTorch's default: it prefetches nothing in forward,
  // and in backward the module that ran before.
  std::int64_t forward_prefetch = 0;
  std::int64_t backward_prefetch = 0;
  // false: parameters stay gathered from one micro-batch to the next.
  bool reshard_after_backward = true;
  // The divisor of sums of gradients; by default the number of ranks, as in PyTorch.
  std::optional<double> gradient_divide_factor = {};
  bool force_sum_reduction = false;
  bool reduces_unused_params = false;
  // For all sharded parameters, since PyTorch 2.15.
  GradDtype grad_dtype = {};
  bool keeps_unsharded_storage = false;
  BackwardEnd backward_end = BackwardEnd::automatic;
  // Cuts rows over the mesh dims that fully_shard gets, instead of over all ranks.
  bool cuts_over_mesh = false;
};

// ShardedTraining is the form of a training run under fully_shard, on one rank. A plan without a
// mesh is one device. The loss of each part is multiplied by the divide factor, so that the factor
// changes gradients only by rounding. In exact arithmetic, without a factor or with the factor 1,
// gradients have the bits of one device.
class ShardedTraining {
 public:
  ShardedTraining(const FsdpPlan& plan, const ShardedSettings& settings);
  // form adds sharding to a form. The prepare of the given form runs after the model is sharded.
  ParallelForm form(ParallelForm given = {});

 private:
  void set_up(nn::Module& model) const;
  void set_prefetch(nn::Module& model) const;
  void before_micro_batch(nn::Module& model, bool is_last) const;
  void end_backward(nn::Module& model) const;
  bool sums_gradients() const;

  const FsdpPlan* plan_;
  ShardedSettings settings_;
};

}  // namespace simmesh
