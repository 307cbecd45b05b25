#pragma once

#include <string>
#include <vector>

#include "core/autograd/node.h"
#include "core/autograd/saved_tensor.h"
#include "core/ops/gradient_call.h"

namespace simmesh {

// OpNode is the tape's entry of one call of an op: its gradient rule, and the tensors that the rule
// reads. It is made before a call in place writes its output, so that it keeps the inputs as they
// were; save_outputs keeps the outputs afterwards.
class OpNode final : public Node {
 public:
  OpNode(const OpCall& call, const Gradient& gradient, TensorTypes output_types);

  std::string name() const override { return op_.name; }
  const Op& op() const { return op_; }
  Gradients apply(Gradients gradients) override;
  // apply_for does the same for the inputs that are wanted, one flag an edge; without flags for
  // all. The gradients of others may be undefined.
  Gradients apply_for(Gradients gradients, gsl::span<const char> wanted);
  void release() override;
  bool takes_unrounded() const override;
  void save_outputs(gsl::span<const Tensor> outputs);

 private:
  Gradients run_rule(const GradientCall::Parts& parts) const;

  const Op& op_;
  const Gradient& gradient_;
  Attributes attributes_;
  TensorTypes input_types_;
  // Saved is a tensor of the call that the rule reads, and its position.
  struct Saved {
    std::size_t position;
    SavedTensor tensor;
  };
  std::vector<Saved> inputs_, outputs_;
  bool released_ = false;
};

}  // namespace simmesh
