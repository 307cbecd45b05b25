#pragma once

#include <cstdint>

#include "core/ops/op.h"

namespace simmesh {

// LossReduction says how the losses of the elements are reduced.
enum class LossReduction : std::uint8_t { none, mean, sum };

// ClassLoss are the options of losses of class indices.
struct ClassLoss {
  Tensor weight = {};  // of each class [C], or undefined
  std::int64_t ignore_index = -100;
  LossReduction reduction = LossReduction::mean;  // mean: weighted
  double label_smoothing = 0.0;                   // of cross_entropy
};

// nll_loss returns -weight[t] * x[n, t] of log-probabilities x of [C], [N, C] or [N, C, d...] and
// int64 targets t of that shape without C. Targets equal to ignore_index don't count; others out of
// range raise an IndexError.
Tensor nll_loss(const Tensor& x, const Tensor& target, const ClassLoss& options = {});

// cross_entropy is nll_loss of log_softmax over the class dim. Targets may be probabilities of the
// shape of x instead.
Tensor cross_entropy(const Tensor& x, const Tensor& target, const ClassLoss& options = {});

// mse_loss is the squared difference, l1_loss the absolute one; huber_loss is half the square up to
// delta, then linear; smooth_l1_loss is huber_loss / beta.
Tensor mse_loss(const Tensor& x, const Tensor& target,
                LossReduction reduction = LossReduction::mean);
Tensor l1_loss(const Tensor& x, const Tensor& target,
               LossReduction reduction = LossReduction::mean);
Tensor huber_loss(const Tensor& x, const Tensor& target,
                  LossReduction reduction = LossReduction::mean, double delta = 1.0);
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target,
                      LossReduction reduction = LossReduction::mean, double beta = 1.0);

// BinaryLoss are the options of binary_cross_entropy_with_logits; undefined weights are 1.
struct BinaryLoss {
  Tensor weight = {};
  Tensor pos_weight = {};
  LossReduction reduction = LossReduction::mean;
};
// binary_cross_entropy_with_logits is the cross entropy of sigmoid(x) and target probabilities.
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                        const BinaryLoss& options = {});

// reduction_of reads the argument "reduction" of a loss.
LossReduction reduction_of(const Attributes& attributes);

// loss_ops returns the ops of this family.
gsl::span<const Op* const> loss_ops();

}  // namespace simmesh
