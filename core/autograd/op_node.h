#pragma once

#include "core/autograd/saved_tensor.h"
#include "core/ops/op.h"

namespace simmesh {

// OpNode is the tape's entry of one call of an op: its gradient rule, and what that reads.
class OpNode final : public Node {
 public:
  OpNode(const OpCall& call, const Gradient& gradient, gsl::span<const Tensor> outputs);

  std::string name() const override { return op_.name; }
  const Op& op() const { return op_; }
  Gradients apply(Gradients gradients) override;
  void release() override;
  bool takes_unrounded() const override;

 private:
  const Op& op_;
  const Gradient& gradient_;
  Attributes attributes_;
  TensorTypes input_types_;
  std::vector<SavedTensor> inputs_, outputs_;
  bool released_ = false;
};

}  // namespace simmesh
