#include "core/autograd/checkpoint.h"

#include <memory>
#include <optional>

#include "core/autograd/autocast.h"
#include "core/autograd/backward.h"
#include "core/autograd/function.h"
#include "core/autograd/saved_tensor.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/functions/default_generator.h"

namespace simmesh {

namespace {

// Thrown through the function when its second run has saved all that is needed.
struct Recomputed {};

// SameDraws makes a second run draw the random numbers of the first.
class SameDraws {
 public:
  explicit SameDraws(const Generator& start) : before_(std::exchange(default_generator(), start)) {}
  ~SameDraws() { default_generator() = before_; }
  SameDraws(const SameDraws&) = delete;
  SameDraws& operator=(const SameDraws&) = delete;

 private:
  Generator before_;
};

// RegionInput keeps an input of a region as the tape keeps saved tensors: a region within another
// leaves its inputs to the outer one.
class RegionInput {
 public:
  explicit RegionInput(const Tensor& tensor) : tensor_(tensor) {
    const SavedTensorHooks::Pack* active = SavedTensorHooks::active();
    if (!tensor.is_defined() || !active) return;
    SavedTensorHooks::Pack pack = *active;
    tracking_ = tensor.tracking();
    unpack_ = pack(tensor.detach());
    tensor_ = Tensor();
  }

  Tensor get() const {
    if (!unpack_) return tensor_;
    Tensor tensor = unpack_().detach();
    tensor.set_tracking(tracking_);
    return tensor;
  }

 private:
  Tensor tensor_;
  SavedTensorHooks::Unpack unpack_;
  TrackingPtr tracking_;
};

std::vector<RegionInput> kept(const std::vector<Tensor>& inputs) {
  std::vector<RegionInput> result;
  result.reserve(inputs.size());
  for (const Tensor& input : inputs) result.emplace_back(input);
  return result;
}

// Frame is one checkpointed region: the number of tensors it saved, and after its second run those
// tensors, each until it is used. A backward pass never uses what another one recomputed.
struct Frame {
  CheckpointedFunction function;
  std::vector<RegionInput> inputs;
  bool early_stop;
  Generator generator = default_generator();
  Autocast::Remembered autocast = {};
  std::size_t saved = 0;
  std::vector<Tensor> recomputed;
  std::optional<std::uint64_t> pass;

  void recompute() {
    std::vector<Tensor> again;
    for (const RegionInput& input : inputs) again.push_back(input.get());
    pass = current_backward();
    recomputed.clear();
    SavedTensorHooks hooks([this](const Tensor& tensor) {
      recomputed.push_back(tensor);
      if (early_stop && recomputed.size() == saved) throw Recomputed();
      return [tensor] { return tensor; };
    });
    GradMode mode(true);
    SameDraws draws(generator);
    std::unique_ptr<Autocast> scope = autocast.reopen();
    try {
      function(again);
    } catch (const Recomputed&) {
    }
    if (recomputed.size() != saved)
      raise(ErrorKind::runtime_error, "autograd/checkpoint",
            "A different number of tensors was saved during the original forward and "
            "recomputation. Number of tensors saved during forward: {}. Number of tensors saved "
            "during recomputation: {}",
            saved, recomputed.size());
  }

  Tensor take(std::size_t index) {
    bool is_there = pass == current_backward() && index < recomputed.size();
    if (!is_there || !recomputed[index].is_defined()) recompute();
    return std::exchange(recomputed[index], Tensor());
  }
};

std::vector<Tensor> run_and_forget(const CheckpointedFunction& function,
                                   const std::vector<Tensor>& inputs, bool early_stop) {
  auto frame = std::make_shared<Frame>(Frame{function, kept(inputs), early_stop});
  SavedTensorHooks hooks([frame](const Tensor&) {
    return [frame, index = frame->saved++] { return frame->take(index); };
  });
  return function(inputs);
}

std::vector<Tensor> leaves_of(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs) {
    leaves.push_back(input.detach());
    if (input.requires_grad()) set_requires_grad(leaves.back());
  }
  return leaves;
}

std::vector<Tensor> run_reentrant(const CheckpointedFunction& function,
                                  const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs;
  Generator generator = default_generator();
  Autocast::Remembered autocast;
  {
    NoGrad mode;
    outputs = function(inputs);
  }
  std::vector<Tensor*> targets;
  targets.reserve(outputs.size());
  for (Tensor& output : outputs) targets.push_back(&output);
  record_function("checkpoint", inputs, targets, [=](const auto& gradients) {
    std::vector<Tensor> leaves = leaves_of(inputs);
    GradMode mode(true);
    SameDraws draws(generator);
    std::vector<Tensor> again, roots;
    {
      std::unique_ptr<Autocast> scope = autocast.reopen();
      again = function(leaves);
    }
    BackwardOptions options;
    for (std::size_t i = 0; i < again.size(); ++i) {
      if (!gradients[i].is_defined() || !again[i].requires_grad()) continue;
      roots.push_back(again[i]);
      options.gradients.push_back(gradients[i]);
    }
    if (roots.empty())
      raise(ErrorKind::runtime_error, "autograd/checkpoint",
            "none of output has requires_grad=True, this checkpoint() is not necessary");
    backward(roots, options);
    std::vector<Tensor> results;
    results.reserve(leaves.size());
    for (const Tensor& leaf : leaves) results.push_back(grad_of(leaf));
    return results;
  });
  return outputs;
}

}  // namespace

std::vector<Tensor> checkpoint_activations(const CheckpointedFunction& function,
                                           const std::vector<Tensor>& inputs,
                                           const CheckpointOptions& options) {
  if (!grad_enabled()) return function(inputs);
  return options.reentrant ? run_reentrant(function, inputs)
                           : run_and_forget(function, inputs, options.early_stop);
}

}  // namespace simmesh
