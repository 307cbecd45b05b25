#pragma once

#include "core/autograd/node.h"
#include "core/autograd/variable.h"

namespace simmesh {

// AccumulateGrad ends the tape at a leaf: it adds what arrives to the leaf's gradient. A leaf has
// one at a time, which the nodes that use the leaf own.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf);
  ~AccumulateGrad() override;

  std::string name() const override { return "AccumulateGrad"; }
  const Tensor& leaf() const { return leaf_; }
  Gradients apply(Gradients gradients) override;
  bool takes_unrounded() const override { return true; }

 private:
  Tensor leaf_;
};

}  // namespace simmesh
