#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fsdp/all_gather.h"
#include "fsdp/context.h"
#include "fsdp/param.h"
#include "fsdp/reduce.h"

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
  bool allocates_from_process_group = false;
  bool separate_reduce_scatter_group = false;
  std::int64_t reduce_scatter_max_input_buffers = 1;
  std::optional<double> divide_factor = {};
  bool sums_gradients = false;
  AllGather all_gather = {};
  ReduceScatter reduce_scatter = {};
  AllReduceHook all_reduce_hook = {};
};

// FSDPParamGroup is the parameters that one gather brings and one reduction takes. Its parameters
// are all in the same sharded state.
class FSDPParamGroup {
 public:
  FSDPParamGroup(FSDPState& state, MeshInfo mesh, PostForward post_forward,
                 MixedPrecisionPolicy policy)
      : state_(&state),
        mesh_(std::move(mesh)),
        post_forward_(std::move(post_forward)),
        policy_(policy) {}

  FSDPState& state() const { return *state_; }
  const MeshInfo& mesh() const { return mesh_; }
  const std::optional<MeshInfo>& post_forward_mesh() const { return post_forward_.mesh; }
  std::vector<std::unique_ptr<FSDPParam>>& params() { return params_; }
  const std::vector<std::unique_ptr<FSDPParam>>& params() const { return params_; }
  ShardedState sharded_state() const { return sharded_state_; }
  GroupSettings& settings() { return settings_; }
  // has_hooks says whether the group was initialised, so that state dicts find shards.
  bool has_hooks() const { return has_hooks_; }
  bool has_pending_gather() const { return pending_ != nullptr; }

  void set_training_state(TrainingState state) { training_state_ = state; }
  TrainingState training_state() const { return training_state_; }
  void set_comm_context(std::shared_ptr<CommContext> context) { comm_ = std::move(context); }

  // set_reshard_after_forward keeps or gives up parameters after forward, over the whole mesh.
  void set_reshard_after_forward(bool reshard) { post_forward_ = {.reshards = reshard}; }

  // lazy_init reads the parameters again and settles their dtypes; may be called again. Raises a
  // RuntimeError for parameters of the meta device, an AssertionError for mixed dtypes.
  void lazy_init();

  // unshard starts a gather where none is pending or needed; wait_for_unshard ends it.
  void unshard(bool async_op);
  void wait_for_unshard();
  // reshard gives up gathered parameters, in forward as post_forward says.
  void reshard();
  // to_sharded registers the shards, for `training` as events name it; silent where that is empty.
  void to_sharded(std::string_view training);
  void prefetch(std::string_view pass, const FSDPState& by);

  // What the hooks of the state call.
  void pre_forward();
  // register_post_backward returns the inputs behind a node that calls post_backward.
  nn::Tensors register_post_backward(nn::Tensors inputs);
  void post_forward();
  // record_post_forward appends the group to the order of forwards.
  void record_post_forward();
  void pre_backward(bool default_prefetch);
  void post_backward();
  void finalize_backward();
  void reset_iter_state();

 private:
  void gather_now(bool async_op);
  GatherStreams gather_streams(bool async_op) const;
  void wait_for_reduction();
  std::size_t reduce_inputs_max() const;
  void backward_prefetch();
  void prefetch_state_before(std::int64_t index);
  std::vector<ParamGrad> take_gradients();
  void check_dtypes() const;
  void check_meta() const;

  FSDPState* state_;
  MeshInfo mesh_;
  PostForward post_forward_;
  MixedPrecisionPolicy policy_;
  std::vector<std::unique_ptr<FSDPParam>> params_;
  GroupSettings settings_;
  std::shared_ptr<CommContext> comm_;
  TrainingState training_state_ = TrainingState::idle;
  ShardedState sharded_state_ = ShardedState::sharded;
  std::unique_ptr<PendingGather> pending_;
  std::vector<std::int64_t> post_forward_indices_;
  std::optional<PartialReduction> partial_;
  // After which the shards of forward, and the gradients of the last reduction, are there.
  StreamEvent resharded_, reduced_;
  std::vector<Tensor> kept_shards_;  // by a fault
  bool was_reset_ = false;
  bool has_hooks_ = false;
};

}  // namespace simmesh::fsdp
