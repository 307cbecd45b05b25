#include "pipeline/runtime/inference.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/ops/functions/default_generator.h"
#include "core/tensor/known_tensor.h"
#include "pipeline/runtime/meta_messages.h"
#include "pipeline/stage/event.h"

namespace simmesh::pipeline {

namespace {

constexpr const char* inference_source = "pipeline/metadata";

// All ranks must take the examples, or none.
bool uses_examples(const StageSet& stages) {
  bool own = std::all_of(stages.local().begin(), stages.local().end(), [](PipelineStage* stage) {
    return stage->given().inputs && stage->given().outputs;
  });
  if (!stages.crosses_ranks()) return own;
  Tensor vote = full({1}, DType::int64, own ? 1 : 0);
  Tensor all = all_reduce(vote, ReduceOp::min, stages.group());
  all = known_tensor(all, "the use of examples");
  return all.has_elements() ? all.values<std::int64_t>()[0] != 0 : own;
}

// Puts back what inference changes, also after an error.
class InferenceScope {
 public:
  explicit InferenceScope(const StageSet& stages)
      : stages_(stages), generator_(default_generator()) {
    for (PipelineStage* stage : stages_.local()) stage->begin_inference();
  }
  ~InferenceScope() { default_generator() = generator_; }
  InferenceScope(const InferenceScope&) = delete;
  InferenceScope& operator=(const InferenceScope&) = delete;

  void end() {
    for (PipelineStage* stage : stages_.local()) stage->end_inference();
  }

 private:
  const StageSet& stages_;
  Generator generator_;
};

// Inference is one run over the stages of a rank. What a stage gives to the next one on the same
// rank is passed on here.
class Inference {
 public:
  Inference(const StageSet& stages, const InferenceCall& call) : stages_(stages), call_(call) {}

  void run() {
    for (PipelineStage* stage : stages_.local()) forward(*stage);
    passed_on_.reset();
    if (!call_.has_backward) return;
    for (auto stage = stages_.local().rbegin(); stage != stages_.local().rend(); ++stage)
      backward(**stage);
  }

 private:
  bool is_local(std::int64_t stage) const {
    return stages_.map().rank_of(stage) == stages_.group().rank();
  }

  void send(const PipelineStage& stage, std::int64_t to, const StageMessage& message) {
    if (is_local(to)) {
      passed_on_ = message;
      return;
    }
    emit({.kind = EventKind::send_meta, .stage = stage.stage_index(), .peer_stage = to});
    send_metas(message, stages_.map().rank_of(to), stages_.group());
    passed_on_.reset();
  }

  GradMetas receive(const PipelineStage& stage, std::int64_t from, MetaDirection direction) {
    const char* wanted = direction == MetaDirection::forward ? "forward" : "backward";
    std::optional<StageMessage> message;
    if (is_local(from)) {
      message = std::exchange(passed_on_, std::nullopt);
    } else {
      emit({.kind = EventKind::recv_meta, .stage = stage.stage_index(), .peer_stage = from});
      message = recv_metas(stages_.map().rank_of(from), stages_.group());
    }
    if (!message || message->direction != direction)
      raise(ErrorKind::runtime_error, inference_source,
            "stage {}: expected {} metadata from stage {}{}, got {}: the ranks hold the stages in "
            "another order than the schedule",
            stage.stage_index(), wanted, from, is_local(from) ? " on the same rank" : "",
            message ? "those of the other direction" : "none");
    return std::move(message->metas);
  }

  void forward(PipelineStage& stage) {
    emit({.kind = EventKind::infer_forward, .stage = stage.stage_index()});
    const MicrobatchArguments& first = call_.microbatches.arguments.front();
    const TensorMetas* outputs = nullptr;
    if (stage.is_first()) {
      outputs = &stage.infer_forward(tensors_of(first.args), first.kwargs);
    } else {
      TensorMetas inputs;
      for (const std::optional<TensorMeta>& meta :
           receive(stage, stage.stage_index() - 1, MetaDirection::forward))
        inputs.push_back(meta.value());
      outputs = &stage.infer_forward(inputs, first.kwargs);
    }
    if (!stage.is_last())
      send(stage, stage.stage_index() + 1,
           {MetaDirection::forward, GradMetas(outputs->begin(), outputs->end())});
    else
      passed_on_.reset();
  }

  void backward(PipelineStage& stage) {
    emit({.kind = EventKind::infer_backward, .stage = stage.stage_index()});
    const GradMetas* grads = nullptr;
    if (stage.is_last()) {
      Tensor target =
          call_.microbatches.targets.empty() ? Tensor() : call_.microbatches.targets.front();
      grads = &stage.infer_backward(call_.loss, target, call_.loss_kwargs);
    } else {
      grads =
          &stage.infer_backward(receive(stage, stage.stage_index() + 1, MetaDirection::backward));
    }
    if (!stage.is_first())
      send(stage, stage.stage_index() - 1, {MetaDirection::backward, *grads});
    else
      passed_on_.reset();
  }

  const StageSet& stages_;
  const InferenceCall& call_;
  std::optional<StageMessage> passed_on_;
};

}  // namespace

void infer_metas(const StageSet& stages, const InferenceCall& call) {
  bool is_static = uses_examples(stages);
  if (call.connects && stages.crosses_ranks()) emit({.kind = EventKind::preconnect});
  if (is_static) {
    for (PipelineStage* stage : stages.local()) stage->use_given_metas();
    return;
  }
  InferenceScope scope(stages);
  try {
    Inference(stages, call).run();
  } catch (...) {
    scope.end();
    throw;
  }
  scope.end();
}

}  // namespace simmesh::pipeline
