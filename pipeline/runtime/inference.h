#pragma once

#include "pipeline/runtime/stage_set.h"
#include "pipeline/runtime/step_inputs.h"

namespace simmesh::pipeline {

// InferenceCall is what the first micro-batch of a call has for finding out shapes.
struct InferenceCall {
  const StepMicrobatches& microbatches;
  const LossFunction& loss;
  const Keywords& loss_kwargs;
  bool has_backward;
  bool connects;  // the first call of the pipeline
};

// infer_metas finds out the shapes of all tensors between stages; all ranks of the pipeline call
// it. Where every stage has examples of its inputs and outputs, these count. Otherwise stages run
// the first micro-batch one after another, in local order, with zeros for what other stages
// compute, and send one another the shapes; gradients and buffers don't change, and no random
// number is used up. Raises a RuntimeError where examples are others, and for stages that the
// ranks hold in another order than the schedule.
void infer_metas(const StageSet& stages, const InferenceCall& call);

}  // namespace simmesh::pipeline
