#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock/stream.h"
#include "core/nn/module.h"
#include "fsdp/communication/communication.h"

namespace simmesh::fsdp {

class FSDPParamGroup;
class FSDPState;
struct GradientReduction;

// UnshardHandle ends a gather that was started by hand. Waiting again does nothing.
class UnshardHandle {
 public:
  explicit UnshardHandle(std::shared_ptr<FSDPState> state) : state_(std::move(state)) {}
  // wait returns when the module's parameters are gathered and registered.
  void wait();

 private:
  std::shared_ptr<FSDPState> state_;
};

// GradientReductionHandle ends a finalisation that was started with async_op. Gradients may be used
// after that. Waiting again does nothing.
class GradientReductionHandle {
 public:
  // Without a state there is nothing to wait for.
  GradientReductionHandle() = default;
  GradientReductionHandle(std::shared_ptr<FSDPState> state,
                          std::shared_ptr<GradientReduction> reduction)
      : state_(std::move(state)), reduction_(std::move(reduction)) {}

  // Raises a RuntimeError where reset_iter_state was called in between.
  void wait();

 private:
  std::shared_ptr<FSDPState> state_;
  std::shared_ptr<GradientReduction> reduction_;
};

// FSDPModule has the methods of a module that fully_shard was applied to, with PyTorch's names. It
// is a cheap value: FSDPModule(module) works for any module, and its methods raise an
// AttributeError if the module isn't sharded.
//
//   fsdp::FSDPModule module = fsdp::fully_shard(model, {.mesh = mesh});
//   module.set_requires_gradient_sync(false);   // accumulate over the next micro-batches
//
// Setters with `recurse` also apply to all modules below. Those without apply to this module's
// groups alone, except set_is_last_backward, set_post_optim_event and reset_iter_state, which apply
// to the whole tree.
class FSDPModule {
 public:
  explicit FSDPModule(nn::Module& module) : module_(&module) {}

  nn::Module& module() const { return *module_; }
  FSDPState& state() const { return *state_for("state"); }

  // unshard gathers this module's parameters now. With async_op it returns a handle: the gather
  // ends when that is waited for, or before the module's forward. reshard frees the gathered
  // parameters.
  std::optional<UnshardHandle> unshard(bool async_op = false) const;
  void reshard() const;

  // set_is_last_backward says whether the next backward pass is the last of the iteration, which
  // waits for all reductions and drops gathers that nothing waited for. True by default; false for
  // all micro-batches but the last saves these waits.
  void set_is_last_backward(bool value) const;
  // set_requires_gradient_sync says whether backward reduces gradients. If not, they add up whole
  // on each rank: no communication, and memory for gradients of unsharded parameters.
  void set_requires_gradient_sync(bool value, bool recurse = true) const;
  // set_requires_all_reduce says whether, on a mesh that also replicates, what was reduced over the
  // shards is all-reduced over the replicas. If not, these partial sums wait for a pass that does.
  void set_requires_all_reduce(bool value, bool recurse = true) const;
  // set_reshard_after_forward and set_reshard_after_backward say whether parameters are freed after
  // the module's forward, and after its backward.
  void set_reshard_after_forward(bool value, bool recurse = true) const;
  void set_reshard_after_backward(bool value, bool recurse = true) const;
  // set_reduce_scatter_unused_params lets parameters without a gradient take part in a reduction
  // with zeros, so that ranks that used different ones reduce the same.
  void set_reduce_scatter_unused_params(bool value, bool recurse = true) const;
  // set_reduce_scatter_max_input_buffers says how many inputs of reductions may be held at a time,
  // over the tree the highest number that was set. Raises a ValueError for a number below 1.
  void set_reduce_scatter_max_input_buffers(std::int64_t count, bool recurse = true) const;
  // set_separate_reduce_scatter_group lets reductions run in a process group of their own, beside
  // all-gathers.
  void set_separate_reduce_scatter_group(bool value, bool recurse = true) const;
  // set_unshard_async_op lets gathers copy on the stream that computes and communicate on that of
  // their group, instead of both on streams of their own.
  void set_unshard_async_op(bool value) const;
  // set_keep_unsharded_storage keeps the memory of gathered parameters when shards are registered
  // again. Since PyTorch 2.15.
  void set_keep_unsharded_storage(bool keep, bool recurse = true) const;

  // Without a factor gradients are means over the data-parallel ranks.
  void set_gradient_divide_factor(std::optional<double> factor) const;
  // set_sums_gradients gives shards the sum of the ranks' gradients instead of their mean. The same
  // operations run: gradients are first multiplied by their later divisor. Raises a RuntimeError
  // outside of exact arithmetic, where the multiplication would round. If a divide factor isn't a
  // power of two, the rounded inverse that the collective multiplies by remains in the result.
  void set_sums_gradients(bool value) const;
  void set_force_sum_reduction_for_comms(bool value) const;
  void set_unshard_in_backward(bool value) const;
  // set_allocate_memory_from_process_group_for_comm puts the flat buffers of gathers and reductions
  // into the memory pool of the process group. Raises an AssertionError where custom communication
  // was set.
  void set_allocate_memory_from_process_group_for_comm(bool value) const;
  // set_symm_mem_for_comm always raises a NotImplementedError that names the alternatives.
  [[noreturn]] void set_symm_mem_for_comm() const;
  // Collectives and memory of the user's own, in the place of those of this module's group; see
  // fsdp/communication/communication.h. Raise a ValueError where the module has several groups.
  void set_custom_all_gather(AllGather all_gather) const;
  void set_custom_reduce_scatter(ReduceScatter reduce_scatter) const;
  // The hook changes the reduced buffer, on the stream that all-reduces or on one of its own.
  // Raises a ValueError for a stream on a 2-D mesh or a module with several groups, an
  // AssertionError for a stream without a hook.
  void set_all_reduce_hook(std::function<void(Tensor& reduced)> hook,
                           std::optional<Stream> stream = {}) const;

  // The modules whose parameters are gathered while this one computes. Raises a ValueError for a
  // module that isn't sharded.
  void set_modules_to_forward_prefetch(const std::vector<nn::Module*>& modules) const;
  void set_modules_to_backward_prefetch(const std::vector<nn::Module*>& modules) const;

  // The event is waited for once, at the start of the next forward of the root.
  void set_post_optim_event(std::function<void()> event) const;
  // Gathers wait for it instead of for everything launched before that forward.
  void set_post_optim_event(StreamEvent event) const;
  // reset_iter_state makes the tree ready for a new iteration after an error in one: gradients that
  // weren't reduced are dropped, and since PyTorch 2.15 those of the shards too; a
  // GradientReductionHandle becomes invalid. Raises a RuntimeError where this isn't the root or
  // where another root's handle is pending, an AttributeError before the first forward.
  void reset_iter_state() const;

  // set_manual_backward_finalization leaves the end of backward to finalize_backward, whatever
  // set_is_last_backward says: for schedules in which reducing gradients is a step of its own. Set
  // it on the root and before backward; otherwise it raises a RuntimeError. Since PyTorch 2.15.
  void set_manual_backward_finalization(bool enabled) const;
  // finalize_backward reduces the gradients that backward passes left, reshards, and ends the
  // iteration. With async_op it returns a handle that must be waited for before the next forward
  // and before gradients are used. It does nothing before the first forward. Raises a RuntimeError
  // where it isn't enabled, this isn't the root, a backward pass runs, a handle is pending, a group
  // has partial sums or doesn't all-reduce, or, with async_op, another root that shares the
  // communication context is at work. Since PyTorch 2.15.
  std::optional<GradientReductionHandle> finalize_backward(bool async_op = false) const;
  // deepcopy is refused, by an AssertionError.
  [[noreturn]] void deepcopy() const;

 private:
  std::shared_ptr<FSDPState> state_for(std::string_view method) const;
  void for_groups(std::string_view method, bool recurse,
                  const std::function<void(FSDPParamGroup&)>& change) const;
  FSDPParamGroup* only_group(std::string_view method) const;
  std::vector<FSDPState*> states_of(const std::vector<nn::Module*>& modules,
                                    std::string_view method) const;

  nn::Module* module_;
};

// ForwardMethod is a method of a module, other than forward, that computes outputs from inputs.
using ForwardMethod = std::function<nn::Tensors(const nn::Tensors& inputs)>;

// register_fsdp_forward_method returns the method with the hooks of forward around it, or the
// method itself if the module isn't sharded. Raises a ValueError that names the method if a sharded
// module doesn't have it.
ForwardMethod register_fsdp_forward_method(nn::Module& module, std::string_view name,
                                           ForwardMethod method);

// share_comm_ctx makes several roots, and all modules below them, share one communication context.
// It may be called before or after their first forwards. Raises a ValueError for a module that
// isn't sharded.
void share_comm_ctx(const std::vector<nn::Module*>& modules);

}  // namespace simmesh::fsdp
