#pragma once

#include <vector>

#include "core/arithmetic/sums/carried_sums.h"
#include "training/training.h"

namespace simmesh {

// loss_terms returns the terms of a loss: their sum, divided by their number, is the loss.
Tensor loss_terms(LossKind kind, const Tensor& output, const Tensor& target);

// LossSum adds up the loss of a step over micro-batches and ranks. In exact arithmetic it adds
// unrounded terms, so the way in which the batch is cut doesn't change it.
class LossSum {
 public:
  // add adds the terms of a micro-batch, and its loss.
  void add(const Tensor& terms, const Tensor& loss);

  // value returns the loss, added over ranks first and then over micro-batches; float64, without
  // dims. All ranks that take different parts call it.
  Tensor value(const TrainingTask& task, const ParallelForm& form) const;

 private:
  std::vector<double> losses_;     // one per micro-batch
  std::vector<CarriedSums> sums_;  // of its terms, in exact arithmetic
};

}  // namespace simmesh
