#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/runtime/posts.h"
#include "pipeline/runtime/step_inputs.h"

namespace simmesh::pipeline {

// StepRun is one call of a schedule on one rank, whatever its order of actions: its micro-batches,
// messages, losses and outputs.
class StepRun {
 public:
  // Parts are what the call is made of; they outlive it.
  struct Parts {
    const StageSet& stages;
    const StepMicrobatches& microbatches;
    const LossFunction& loss;
    const Keywords& loss_kwargs;
    SendMode sends = SendMode::rendezvous;
    bool keeps_outputs = true;
  };

  explicit StepRun(const Parts& parts);

  Posts& posts() { return posts_; }
  // forward computes a micro-batch of a stage and its loss, and hands the outputs to the next stage
  // on this rank. backward and backward_weight do the same the other way. The inputs must be there.
  void forward(const Action& action);
  void backward(const Action& action, bool is_last);
  void backward_weight(const Action& action, bool is_last);
  // release drops the outputs that were sent.
  void release(const Action& action);

  // losses returns one loss a micro-batch, undefined where none was computed; outputs the outputs
  // of the last stage by micro-batch.
  const std::vector<Tensor>& losses() const { return losses_; }
  std::vector<nn::Tensors>& outputs() { return outputs_; }

 private:
  void compute_loss(std::int64_t microbatch, const nn::Tensors& outputs);

  Parts parts_;
  Posts posts_;
  std::vector<Tensor> losses_;
  std::int64_t losses_computed_ = 0;
  std::vector<nn::Tensors> outputs_;
};

}  // namespace simmesh::pipeline
