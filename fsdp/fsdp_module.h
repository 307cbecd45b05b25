#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fsdp/state.h"

namespace simmesh::fsdp {

// UnshardHandle ends a gather that was started by hand. Waiting again does nothing.
class UnshardHandle {
 public:
  explicit UnshardHandle(std::shared_ptr<FSDPState> state) : state_(std::move(state)) {}
  void wait();

 private:
  std::shared_ptr<FSDPState> state_;
};

// FSDPModule is what a module can do once fully_shard was applied to it, under PyTorch's names. A
// cheap value: FSDPModule(module) works for any module, and a method raises an AttributeError where
// the module isn't sharded.
//
// Setters with `recurse` also reach all modules below; those without are for this module's groups
// alone, but set_is_last_backward, set_post_optim_event and reset_iter_state are for the whole
// tree.
class FSDPModule {
 public:
  explicit FSDPModule(nn::Module& module) : module_(&module) {}

  nn::Module& module() const { return *module_; }
  FSDPState& state() const { return *state_for("state"); }

  // unshard gathers this module's parameters now; an asynchronous one ends with the wait of its
  // handle, or before the module's forward. reshard gives them up.
  std::optional<UnshardHandle> unshard(bool async_op = false) const;
  void reshard() const;

  void set_is_last_backward(bool value) const;
  void set_requires_gradient_sync(bool value, bool recurse = true) const;
  void set_requires_all_reduce(bool value, bool recurse = true) const;
  void set_reshard_after_forward(bool value, bool recurse = true) const;
  void set_reshard_after_backward(bool value, bool recurse = true) const;
  void set_reduce_scatter_unused_params(bool value, bool recurse = true) const;
  // Raises a ValueError for a number below 1.
  void set_reduce_scatter_max_input_buffers(std::int64_t count, bool recurse = true) const;
  void set_separate_reduce_scatter_group(bool value, bool recurse = true) const;
  void set_unshard_async_op(bool value) const;

  // Without a factor gradients are means over the data-parallel ranks.
  void set_gradient_divide_factor(std::optional<double> factor) const;
  // set_sums_gradients gives shards the sum of the ranks' gradients, while all operations stay as
  // they are: gradients are multiplied by the number that they are divided by later. Raises a
  // RuntimeError outside of exact arithmetic, where that would round. With a divide factor that
  // isn't a power of two the collective's own rounded inverse stays in the result.
  void set_sums_gradients(bool value) const;
  void set_force_sum_reduction_for_comms(bool value) const;
  void set_unshard_in_backward(bool value) const;
  // set_allocate_memory_from_process_group_for_comm lets the flat buffers of gathers and reductions
  // lie in the memory pool of the process group. Raises an AssertionError where custom
  // communication was set.
  void set_allocate_memory_from_process_group_for_comm(bool value) const;
  // set_symm_mem_for_comm always raises a NotImplementedError that says what there is instead.
  [[noreturn]] void set_symm_mem_for_comm() const;
  // Collectives and memory of the user's own, in the place of those of this module's group; see
  // fsdp/communication.h. Raise a ValueError where the module has several groups.
  void set_custom_all_gather(AllGather all_gather) const;
  void set_custom_reduce_scatter(ReduceScatter reduce_scatter) const;
  // The hook changes what was reduced, on the stream that all-reduces or on one of its own. Raises
  // a ValueError for a stream on a 2-D mesh or a module with several groups, an AssertionError for
  // a stream without a hook.
  void set_all_reduce_hook(std::function<void(Tensor& reduced)> hook,
                           std::optional<Stream> stream = {}) const;

  // The modules whose parameters are gathered while this one computes. A ValueError for a module
  // that isn't sharded.
  void set_modules_to_forward_prefetch(const std::vector<nn::Module*>& modules) const;
  void set_modules_to_backward_prefetch(const std::vector<nn::Module*>& modules) const;

  // The event is waited for once, at the begin of the next forward of the root.
  void set_post_optim_event(std::function<void()> event) const;
  // Gathers wait for it instead of for all that was launched before that forward.
  void set_post_optim_event(StreamEvent event) const;
  // reset_iter_state makes the tree ready for a new iteration after an error in one. A RuntimeError
  // where this isn't the root, an AttributeError before the first forward.
  void reset_iter_state() const;
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

// ForwardMethod is another method of a module that computes outputs from inputs.
using ForwardMethod = std::function<nn::Tensors(const nn::Tensors& inputs)>;

// register_fsdp_forward_method returns the method with what runs around forward around it; of a
// module that isn't sharded the method itself. Raises a ValueError, naming it, for a method that
// the sharded module doesn't have.
ForwardMethod register_fsdp_forward_method(nn::Module& module, std::string_view name,
                                           ForwardMethod method);

// share_comm_ctx lets several roots, with all that is below them, share one communication context,
// before their first forwards or after. Raises a ValueError for a module that isn't sharded.
void share_comm_ctx(const std::vector<nn::Module*>& modules);

}  // namespace simmesh::fsdp
