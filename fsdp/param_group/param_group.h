#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/check/call_site.h"
#include "fsdp/communication/comm_context.h"
#include "fsdp/param/param.h"
#include "fsdp/param/partial_sums.h"
#include "fsdp/param_group/all_gather.h"
#include "fsdp/param_group/reduce.h"

namespace simmesh::fsdp {

// GroupSettings are a group's switches; the names are those of the setters of FSDPModule.
struct GroupSettings {
  bool reduce_grads = true;
  bool all_reduce_grads = true;
  bool reshard_after_backward = true;
  bool unshard_in_backward = true;
  bool unshard_async_op = false;
  bool reduce_scatter_unused_params = false;
  bool force_sum = false;
  bool separate_reduce_scatter_group = false;
  std::int64_t reduce_scatter_max_input_buffers = 1;
  std::optional<double> divide_factor = {};
  bool sums_gradients = false;
  // Given by the user, or the memory of the process group.
  AllGather all_gather = {};
  ReduceScatter reduce_scatter = {};
  bool has_custom_communication = false;
  AllReduceHook all_reduce_hook = {};
};

// ParamGroupOptions are the mesh over which the parameters of a group are sharded, and how they are
// used.
struct ParamGroupOptions {
  MeshInfo mesh;
  // True if the parameters brought the mesh, instead of the module: even an equal mesh then has
  // process groups of its own.
  bool is_own_mesh = false;
  PostForward post_forward = {};
  MixedPrecisionPolicy policy = {};
};

// FSDPParamGroup is a set of parameters that are gathered by one collective and reduced by one. All
// its parameters are in the same sharded state. Its FSDPState decides what is called when.
class FSDPParamGroup {
 public:
  FSDPParamGroup(FSDPState& state, ParamGroupOptions options)
      : state_(&state), options_(std::move(options)) {}

  FSDPState& state() const { return *state_; }
  const MeshInfo& mesh() const { return options_.mesh; }
  bool is_own_mesh() const { return options_.is_own_mesh; }
  const std::optional<MeshInfo>& post_forward_mesh() const { return options_.post_forward.mesh; }
  std::vector<std::unique_ptr<FSDPParam>>& params() { return params_; }
  const std::vector<std::unique_ptr<FSDPParam>>& params() const { return params_; }
  ShardedState sharded_state() const { return sharded_state_; }
  GroupSettings& settings() { return settings_; }
  const GroupSettings& settings() const { return settings_; }
  // is_initialized is true once dtypes are settled; state dicts register shards from then on.
  bool is_initialized() const { return is_initialized_; }
  bool has_pending_gather() const { return pending_ != nullptr; }

  TrainingState training_state() const { return training_state_; }
  void set_training_state(TrainingState state) { training_state_ = state; }
  // set_site sets the call site that reports of the group's collectives show.
  void set_site(const CallSite& site) { site_ = site; }
  // communicate_over sets the context whose streams and order of forwards the group uses.
  void communicate_over(std::shared_ptr<CommContext> context) { comm_ = std::move(context); }

  // set_reshard_after_forward sets whether parameters are given up after forward, over the whole
  // mesh.
  void set_reshard_after_forward(bool reshard) { options_.post_forward = {.reshards = reshard}; }

  // read_params adopts, once, the registered parameters. settle_dtypes settles the dtypes of
  // gathers and reductions; raises an AssertionError for parameters of several dtypes that require
  // gradients.
  void read_params();
  void settle_dtypes();

  // unshard starts a gather where none is pending or needed; wait_for_unshard ends it. prefetch
  // starts it as a hook of a pass does.
  void unshard(bool async_op);
  void wait_for_unshard();
  void prefetch(Pass pass, const FSDPState& by);
  // reshard gives up gathered parameters: in forward as post_forward says, else for the shards.
  void reshard();
  // reshard_for_state_dict does so for a state dict.
  void reshard_for_state_dict();
  // register_shards does so without an event, and returns whether other tensors were registered
  // before.
  bool register_shards();

  // begin_forward gathers; end_forward gives up the gathered parameters and records the forward,
  // except in a recomputation.
  void begin_forward();
  void end_forward();
  // record_forward appends the group to the order of forwards; take_forward_index returns the index
  // of its last forward that wasn't taken yet, if any.
  void record_forward();
  std::optional<std::int64_t> take_forward_index();
  // begin_backward gathers. Returns whether this was the first call, since several outputs call it.
  bool begin_backward();
  // end_backward takes the gradients and reduces them, and holds fewer than a number of inputs of
  // earlier reductions. defer_backward leaves that to the caller of finalize_backward, as a group
  // that doesn't reduce does; has_pending_backward is then true until gradients are reduced.
  void end_backward(std::size_t reduce_inputs_max);
  void defer_backward() { has_pending_backward_ = true; }
  bool has_pending_backward() const { return has_pending_backward_; }
  bool has_partial_sums() const { return !partial_.is_empty(); }
  // finish_iteration ends the last backward; abandon_iteration clears the state of an iteration
  // that failed.
  void finish_iteration();
  void abandon_iteration();

 private:
  void gather_now(bool async_op);
  GatherStreams gather_streams(bool async_op) const;
  std::vector<ParamGrad> take_gradients();
  bool is_reduced_unused(const FSDPParam& param) const;
  void check_unused_dtypes() const;
  void order_reduction();
  void reduce(std::vector<ParamGrad> gradients);

  FSDPState* state_;
  ParamGroupOptions options_;
  std::vector<std::unique_ptr<FSDPParam>> params_;
  std::vector<FSDPParam*> reduction_order_;
  GroupSettings settings_;
  std::shared_ptr<CommContext> comm_;
  CallSite site_;
  TrainingState training_state_ = TrainingState::idle;
  ShardedState sharded_state_ = ShardedState::sharded;
  std::unique_ptr<PendingGather> pending_;
  std::vector<std::int64_t> forward_indices_;
  PartialSums partial_;
  // Events after which the shards of forward, and the gradients of the last reduction, are ready.
  StreamEvent resharded_, reduced_;
  bool was_read_ = false;
  bool is_initialized_ = false;
  bool has_pending_backward_ = false;
};

}  // namespace simmesh::fsdp
