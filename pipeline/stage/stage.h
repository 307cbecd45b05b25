#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/autograd/split_backward.h"
#include "fsdp/fsdp_module.h"
#include "pipeline/stage/stage_options.h"
#include "pipeline/stage/tensor_meta.h"

namespace simmesh::pipeline {

// BackwardCall is one backward of a stage for a micro-batch.
struct BackwardCall {
  std::int64_t microbatch;
  Tensor loss = {};      // of the last stage
  bool is_full = true;   // false: the gradients of the inputs only; backward_weight has the rest
  bool is_last = false;  // the last one of the stage in a call of the schedule
};

// ForwardContextHandle removes the context that it was returned for.
class ForwardContextHandle {
 public:
  explicit ForwardContextHandle(std::shared_ptr<ForwardContext> context)
      : context_(std::move(context)) {}
  void remove() { *context_ = nullptr; }

 private:
  std::shared_ptr<ForwardContext> context_;
};

// PipelineStage is one stage of a pipeline on the rank that holds it: a module, and for each
// micro-batch under way what the module's backward needs. A PipelineSchedule runs it. The module
// may be under fully_shard, or replicated.
//
//   pipeline::PipelineStage stage(model, {.stage_index = 0, .num_stages = 4});
class PipelineStage {
 public:
  // Raises a ValueError for an index that isn't below the number of stages, a RuntimeError for more
  // ranks than stages and for examples that aren't tensors.
  PipelineStage(nn::Module& module, StageOptions options);

  nn::Module& module() const { return *module_; }
  const ProcessGroup& group() const { return group_; }
  std::int64_t stage_index() const { return options_.stage_index; }
  std::int64_t num_stages() const { return options_.num_stages; }
  bool is_first() const { return stage_index() == 0; }
  bool is_last() const { return stage_index() == num_stages() - 1; }
  // is_sharded is true if fully_shard was applied to the module itself.
  bool is_sharded() const;

  // register_forward_context sets the context of all forwards. Raises a RuntimeError while another
  // one is registered.
  ForwardContextHandle register_forward_context(ForwardContext context);

  // peak_states is the largest number of micro-batches of one call whose inputs and outputs were
  // held at once.
  std::size_t peak_states() const { return peak_states_; }

  // Schedules call the rest.

  // begin_call drops what an earlier call has left.
  void begin_call(bool has_backward);
  bool has_backward() const { return has_backward_; }

  // given are the metas of the examples, and metas those that count.
  const StageMetas& given() const { return given_; }
  const StageMetas& metas() const { return metas_; }
  // use_given_metas takes the examples, without running anything.
  void use_given_metas();
  // infer_forward runs a forward on the inputs of a micro-batch, or on zeros like them, and
  // returns its outputs' metas. infer_backward then returns those of the inputs' gradients.
  // end_inference puts back all that they changed. Raise RuntimeErrors where the examples are
  // others.
  const TensorMetas& infer_forward(const nn::Tensors& args, const Keywords& keywords);
  const TensorMetas& infer_forward(const TensorMetas& inputs, const Keywords& keywords);
  const GradMetas& infer_backward(const GradMetas& output_grads);
  const GradMetas& infer_backward(const LossFunction& loss, const Tensor& target,
                                  const Keywords& keywords);
  void begin_inference();
  void end_inference();

  // set_inputs gives a stage that isn't the first one the inputs of a micro-batch.
  void set_inputs(std::int64_t microbatch, nn::Tensors inputs);
  // forward computes a micro-batch, from `args` on the first stage, and returns the outputs. Errors
  // of the module come as the cause of a RuntimeError.
  nn::Tensors forward(std::int64_t microbatch, const nn::Tensors& args, const Keywords& keywords);
  // outputs_to_send returns the outputs of a micro-batch. release_outputs drops them once they were
  // received: the backward starts from their place on the tape. Returns false where it holds none.
  nn::Tensors outputs_to_send(std::int64_t microbatch);
  bool release_outputs(std::int64_t microbatch);

  // set_output_grads gives a stage that isn't the last one the gradients of its outputs, undefined
  // where there is none.
  void set_output_grads(std::int64_t microbatch, nn::Tensors grads);
  void backward(const BackwardCall& call);
  void backward_weight(std::int64_t microbatch, bool is_last);
  // take_input_grads returns the gradients of the inputs: zeros for an input that requires one and
  // got none, undefined for one that requires none.
  nn::Tensors take_input_grads(std::int64_t microbatch);

  // unshard and reshard do so for all modules of the stage.
  std::vector<fsdp::UnshardHandle> unshard();
  void reshard();
  // set_divisor says by which number the gradients of a call are divided at its end. Gradients of
  // earlier calls are put aside for that, and are added undivided. Parameters in `others` are
  // divided by another stage of the rank.
  void set_divisor(std::int64_t divisor, const std::vector<Tensor>& others);
  // divide_gradients divides the gradients of this call.
  void divide_gradients();
  // start_reduction reduces the gradients of a sharded module, and wait_reduction waits for it.
  void start_reduction();
  void wait_reduction();

 private:
  // One output of a micro-batch. The tensor goes before its place on the tape does.
  struct Output {
    Tensor live;
    simmesh::Edge edge;
    TensorMeta meta;
    bool is_sent = false;
  };
  // The tensors that a backward of a micro-batch needs. Leaves are undefined on the first stage.
  struct ForwardState {
    nn::Tensors inputs;
    nn::Tensors leaves;
    std::vector<Output> outputs;
  };

  nn::Tensors run(const PipelineStageInfo& info, const nn::Tensors& inputs,
                  const Keywords& keywords);
  nn::Tensors call_module(const nn::Tensors& inputs, const Keywords& keywords);
  const TensorMetas& infer_outputs(const Keywords& keywords);
  const GradMetas& infer_input_grads(gsl::span<const GradientRoot> roots);
  ForwardState track_inputs(nn::Tensors inputs) const;
  void keep_outputs(std::int64_t microbatch, ForwardState state, const nn::Tensors& outputs);
  std::vector<GradientRoot> roots_of(const ForwardState& state, const BackwardCall& call);
  void run_full(const ForwardState& state, const std::vector<GradientRoot>& roots,
                const BackwardCall& call);
  void run_inputs(const ForwardState& state, const std::vector<GradientRoot>& roots,
                  const BackwardCall& call);
  void keep_input_grads(const ForwardState& state, nn::Tensors grads, std::int64_t microbatch);
  void prepare_parallel(bool is_last);
  bool may_release() const;
  std::vector<Tensor> own_parameters() const;

  nn::Module* module_;
  StageOptions options_;
  ProcessGroup group_;
  std::shared_ptr<ForwardContext> context_ = std::make_shared<ForwardContext>();
  StageMetas given_, metas_;
  bool has_backward_ = false;

  std::map<std::int64_t, nn::Tensors> received_inputs_, received_grads_, input_grads_;
  std::map<std::int64_t, ForwardState> states_;
  std::map<std::int64_t, std::unique_ptr<SplitBackward>> split_;
  std::map<std::int64_t, std::function<void()>> weight_runners_;
  std::size_t peak_states_ = 0;

  std::int64_t divisor_ = 1;
  std::vector<Tensor> divided_elsewhere_;
  std::vector<std::pair<Tensor, Tensor>> put_aside_;  // parameters and their earlier gradients
  bool has_unreduced_ = false;  // gradients of a sharded module, of this call or an earlier one
  std::optional<fsdp::GradientReductionHandle> reduction_;

  nn::Tensors inferred_inputs_, inferred_outputs_;
  std::vector<std::pair<Tensor, Tensor>> saved_buffers_;
};

}  // namespace simmesh::pipeline
