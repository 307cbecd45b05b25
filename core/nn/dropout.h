#pragma once

#include "core/nn/module.h"

namespace simmesh::nn {

// Dropout zeroes elements with probability p in training and scales the others by 1 / (1 - p).
// Which ones depends on the default generator and an element's index alone: its index in the whole
// batch in the scope of BatchRows.
class Dropout final : public Module {
 public:
  explicit Dropout(double p) : p_(p) {}
  Tensors forward(const Tensors& inputs) override;

 private:
  double p_;
};

}  // namespace simmesh::nn
