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
// range raise an IndexError. Raises a ValueError for targets of another shape, and a RuntimeError
// for targets of another dtype and weights of another shape.
Tensor nll_loss(const Tensor& x, const Tensor& target, const ClassLoss& options = {});

// cross_entropy is nll_loss of log_softmax over the class dim. Targets may be probabilities of the
// shape of x instead. Raises as nll_loss does, and a RuntimeError for a label_smoothing outside of
// [0, 1].
Tensor cross_entropy(const Tensor& x, const Tensor& target, const ClassLoss& options = {});

// mse_loss is the squared difference, l1_loss the absolute one; huber_loss is half the square up to
// delta, then linear; smooth_l1_loss is huber_loss / beta. Targets are broadcast; shapes that don't
// fit raise a RuntimeError.
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
// Raises a ValueError for targets of another shape than x.
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                        const BinaryLoss& options = {});

// class_dim returns the dim of the scores that has the classes: 0 for a vector, else 1.
std::int64_t class_dim(std::size_t rank);

// ClassTargets are class indices, without those that are ignored; both have a class dim of size 1.
struct ClassTargets {
  Tensor ignored;  // bool
  Tensor indices;  // 0 where ignored
};
// class_targets reads them from a target, which has no class dim.
ClassTargets class_targets(const Tensor& target, std::int64_t dim, std::int64_t ignore_index);

// target_weights returns the weight of each target's class, 1 for an undefined weight, and 0 where
// the target is ignored.
Tensor target_weights(const ClassTargets& targets, const Tensor& weight, DType dtype);

// reduction_of reads the argument "reduction" of a loss.
LossReduction reduction_of(const Attributes& attributes);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<std::int64_t> reduction{"reduction"};
inline constexpr Attribute<double> delta{"delta"};
inline constexpr Attribute<std::int64_t> ignore_index{"ignore_index"};
}  // namespace attribute

}  // namespace simmesh
