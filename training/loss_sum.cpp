#include "training/loss_sum.h"

#include "core/arithmetic/unrounded.h"
#include "core/check/check.h"
#include "core/clock/clock.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/neural/losses.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/scalar_value.h"
#include "core/tensor/vector_of.h"

namespace simmesh {

Tensor loss_terms(LossKind kind, const Tensor& output, const Tensor& target) {
  switch (kind) {
    case LossKind::mse: return mse_loss(output, target, LossReduction::none);
    case LossKind::dot: return mul(output, target);
    case LossKind::cross_entropy: {
      std::int64_t classes = output.size(output.dim() - 1);
      return cross_entropy(reshape(output, {-1, classes}), reshape(target, {-1}),
                           {.reduction = LossReduction::none});
    }
  }
  SIMMESH_CHECK(false, "unknown loss {}", int(kind));
}

void LossSum::add(const Tensor& terms, const Tensor& loss) {
  losses_.push_back(scalar_value_or(loss.detach(), 0.0));
  if (!current_arithmetic().is_exact()) return;
  Ledger::Uncharged host;
  Clock::Quiet no_launches;
  KeepUnrounded scope;
  Tensor sum = simmesh::sum(terms.detach());
  sums_.push_back(sum.has_elements() ? unrounded(sum) : CarriedSums::zeros(1));
}

Tensor LossSum::value(const TrainingTask& task, const ParallelForm& form) const {
  Tensor losses = vector_of<double>(losses_);
  bool has_values = losses.has_elements();
  for (std::size_t i = 0; has_values && i < sums_.size(); ++i) {
    Tensor loss = losses.narrow({.dim = 0, .start = std::int64_t(i), .length = 1});
    keep_unrounded(loss, sums_[i]);
  }
  KeepUnrounded scope;
  if (form.all_sum) losses = form.all_sum(losses);
  double total = 0;
  if (!has_values) return full(DimSpan(), DType::float64, total);
  if (sums_.empty())
    for (double loss : losses.values<double>()) total += loss / form.gradient_divisor;
  else
    total = unrounded(simmesh::sum(losses)).rounded(0, DType::float64) / task.terms;
  return full(DimSpan(), DType::float64, total);
}

}  // namespace simmesh
