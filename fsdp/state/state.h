#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/check/call_site.h"
#include "core/nn/module.h"
#include "fsdp/communication/comm_context.h"
#include "fsdp/param_group/param_group.h"
#include "fsdp/state/state_context.h"

namespace simmesh::fsdp {

// FSDPState is the state of one call of fully_shard: of one module, or of several that form one
// group of communication. It acts around the modules' forward, and in backward when the gradients
// of their outputs and inputs come. The model must outlive its backward passes.
class FSDPState final : public nn::ModuleExtension, public std::enable_shared_from_this<FSDPState> {
 public:
  FSDPState(std::vector<nn::Module*> modules, MixedPrecisionPolicy policy, bool auto_reshard);

  // of returns a module's state; null where fully_shard wasn't applied to it.
  static std::shared_ptr<FSDPState> of(const nn::Module& module);

  const std::vector<nn::Module*>& modules() const { return modules_; }
  std::vector<std::unique_ptr<FSDPParamGroup>>& groups() { return groups_; }
  const std::vector<std::unique_ptr<FSDPParamGroup>>& groups() const { return groups_; }
  // is_root is undecided before the first forward.
  const std::optional<bool>& is_root() const { return is_root_; }
  StateContext& context() { return *context_; }
  // policy is the one passed to fully_shard, without the function that it called for each
  // parameter.
  const MixedPrecisionPolicy& policy() const { return policy_; }
  // site is where fully_shard was called; from the first forward on, also for which module.
  const CallSite& site() const { return site_; }
  void set_site(const CallSite& site);

  // install puts the hooks on the modules.
  void install();

  void set_prefetch_forward(std::vector<FSDPState*> targets) {
    forward_prefetch_ = std::move(targets);
  }
  void set_prefetch_backward(std::vector<FSDPState*> targets) {
    backward_prefetch_ = std::move(targets);
  }
  void clear_auto_reshard() { auto_reshard_ = false; }

  const std::shared_ptr<CommContext>& comm_context() const { return comm_; }
  void set_comm_context(const std::shared_ptr<CommContext>& context);

  // init_group makes a group read its parameters and settle their dtypes; it may be called again.
  // Raises a RuntimeError for parameters of the meta device, an AssertionError for mixed dtypes.
  void init_group(FSDPParamGroup& group);

  // pre_forward and post_forward run around a forward, or another method, of one of the modules.
  nn::Tensors pre_forward(nn::Tensors inputs);
  nn::Tensors post_forward(nn::Module& module, nn::Tensors outputs);

  void forward_failed(nn::Module& module) override;

  // reset_iter_state clears the state of an iteration that failed. Raises a RuntimeError where this
  // isn't the root or another root's reduction is pending in the shared communication context, an
  // AttributeError before the first forward.
  void reset_iter_state();

  // Implementations of the methods of FSDPModule with these names. If finalize_backward isn't to
  // wait, it leaves its last part to wait_for_reduction; start_reduction does so and returns what
  // to wait for.
  void set_manual_backward_finalization(bool enabled);
  void finalize_backward(bool waits);
  std::shared_ptr<GradientReduction> start_reduction();
  void wait_for_reduction(const std::shared_ptr<GradientReduction>& reduction);

 private:
  void lazy_init();
  void adopt_children();
  void check_shared_params() const;
  void check_not_meta(const FSDPParamGroup& group) const;
  std::string fqn_of(const FSDPParam& param) const;
  void root_pre_forward();
  nn::Tensors cast_inputs(nn::Tensors inputs) const;
  nn::Tensors cast_outputs(nn::Tensors outputs) const;
  // completes_run returns whether `module` is the last of several that had to run.
  bool completes_run(const nn::Module& module);
  nn::Tensors complete(nn::Tensors outputs);
  nn::Tensors complete_others(nn::Tensors outputs);
  void register_pre_backward(nn::Tensors& outputs);
  // reduces_after returns the inputs as outputs of a node; the end of that node's backward ends the
  // group's backward.
  nn::Tensors reduces_after(FSDPParamGroup& group, nn::Tensors inputs);
  void end_backward(FSDPParamGroup& group) const;
  void pre_backward();
  void prefetch_before(FSDPParamGroup& group);
  void prefetch_state_before(std::int64_t index);
  void queue_root_callback();
  void root_callback();
  void complete_backward(bool defers);
  void finish_groups();
  void finish_all_groups();
  void end_iteration();
  void check_no_pending_reduction(std::string_view before) const;
  void check_finalization() const;
  void check_no_work_of_others() const;
  void check_manual_root() const;

  std::vector<nn::Module*> modules_;
  std::vector<nn::Module*> to_run_;  // modules, of several, that haven't run in this forward
  std::vector<std::unique_ptr<FSDPParamGroup>> groups_;
  MixedPrecisionPolicy policy_;
  bool auto_reshard_;
  CallSite site_;
  std::optional<bool> is_root_;
  TrainingState training_state_ = TrainingState::idle;
  std::shared_ptr<StateContext> context_ = std::make_shared<StateContext>();
  std::shared_ptr<CommContext> comm_ = std::make_shared<CommContext>();
  std::vector<FSDPState*> forward_prefetch_, backward_prefetch_;
};

}  // namespace simmesh::fsdp
