#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zero/stage3/module_index.h"
#include "zero/stage3/sharded_optimizer.h"

namespace simmesh::zero {

// Stage3 is ZeRO stage 3 of one model on one rank: each rank owns a shard of every parameter, its
// gradient, its master and the state of the optimiser, and parameters are whole only while modules
// use them. In an engine the hooks of the modules drive it; a program without modules that compute
// can drive it by hand, as recorded schedules do:
//
//   zero::Stage3 stage({model, make_optimizer, config, group});
//   stage.coordinator().reset();
//   stage.coordinator().enter(1, zero::Pass::forward);   // and leave
//   stage.add_gradient(0, {});                     // zeros
//   stage.end_gradients();
//   stage.coordinator().end_backward();
//   stage.step(1.0);
class Stage3 final : public Stage {
 public:
  // Partitions the parameters of the module: those of the group's first rank, which are broadcast.
  // Without a make_optimizer it is the engine for inference, which never steps.
  explicit Stage3(const StageSetup& setup, const DeepSpeedFaults& faults = {});
  ~Stage3() override;

  // attach keeps hooks of the modules alive as long as the stage; `end_backward` is called when a
  // backward pass has ended. See ModuleHooks.
  void attach(std::shared_ptr<void> hooks, std::function<void()> end_backward);

  const ModuleIndex& index() const { return index_; }
  PartitionedParams& params() { return *params_; }
  Coordinator& coordinator() { return *coordinator_; }
  GradientShards& gradients() { return *gradients_; }
  ShardedOptimizer* sharded_optimizer() { return optimizer_.get(); }

  // register_external_parameter makes a module use a parameter of another; it is gathered at once
  // where it isn't available. A returned one came out of the module's own call of another.
  void register_external(ModuleId module, ParamId param, bool returned = false);
  void unregister_external(ModuleId module, ParamId param);

  // add_gradient takes a gradient that is ready, undefined for zeros; end_gradients reduces the
  // bucket. The coordinator's end_backward follows.
  void add_gradient(ParamId param, Tensor gradient);
  void end_gradients();

  // gather makes parameters whole, by a blocking gather of each that isn't.
  void gather(const std::vector<ParamId>& params);

  // Scopes of GatheredParameters: open_scope gathers parameters, ascending, that no other scope
  // holds; when the scope closes, the elements become those of one member of the group, or are
  // dropped. abandon_scope only releases them.
  void open_scope(const std::vector<ParamId>& params);
  void close_scope(const std::vector<ParamId>& params, std::optional<std::int64_t> modifier_rank);
  void abandon_scope(const std::vector<ParamId>& params);

  void before_backward(bool is_boundary) override;
  void after_backward() override;
  StepResult step(double loss_scale) override;
  Tensor squares(double loss_scale) override;
  const std::vector<nn::NamedTensor>& masters() const override;
  optim::Optimizer& optimizer() const override;
  std::vector<MasterShard> master_shards() override;
  void masters_changed() override;
  Tensor full_fp32_param(std::size_t parameter) override;
  Tensor full_optimizer_state(std::size_t parameter, const std::string& key) override;
  Tensor full_grad(std::size_t parameter) override;
  MemoryUse memory_use() const override;

 private:
  Tensor whole_of(std::size_t parameter, const Tensor& own) const;
  void gather_persistent();
  void refuse_changes(const std::vector<ParamId>& params) const;

  ProcessGroup group_;
  ModelParallel parallel_;
  ModuleIndex index_;
  std::unique_ptr<PartitionedParams> params_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<GradientShards> gradients_;
  std::unique_ptr<ShardedOptimizer> optimizer_;
  std::shared_ptr<void> hooks_;
  std::function<void()> end_backward_;
  // State of an open scope, by parameter: the changes of the leaf's storage when it was opened, and
  // whether the scope gathered it.
  struct Scoped {
    std::uint32_t changes = 0;
    bool is_gathered = false;
  };
  std::vector<std::optional<Scoped>> scoped_;
  bool checks_changes_;
};

}  // namespace simmesh::zero
