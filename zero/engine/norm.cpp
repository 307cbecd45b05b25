#include "zero/engine/norm.h"

#include "collectives/collectives.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/shapes/factories.h"
#include "core/optim/clip.h"
#include "core/optim/loss_scaler.h"
#include "core/tensor/convert.h"
#include "core/tensor/known_tensor.h"

namespace simmesh::zero {

bool are_all_finite(gsl::span<const Tensor> tensors, const ProcessGroup& group) {
  NoGrad mode;
  bool is_finite = true;
  for (const Tensor& tensor : tensors) is_finite &= optim::all_finite(tensor);
  Tensor overflow = full({1}, DType::uint8, is_finite ? 0.0 : 1.0);
  if (group.size() > 1) overflow = all_reduce(overflow, ReduceOp::max, group);
  overflow = known_tensor(overflow, "the overflow of gradients");
  return !overflow.has_elements() || overflow.values<std::uint8_t>()[0] == 0;
}

Tensor sharded_squares(gsl::span<const Tensor> tensors, const ProcessGroup& group) {
  NoGrad mode;
  KeepUnrounded scope;
  Tensor own = optim::power_sum(tensors, 2.0);
  Tensor narrow = converted_unrounded(own, DType::float32);
  if (group.size() > 1) narrow = all_reduce(narrow, ReduceOp::sum, group);
  return converted_unrounded(narrow, DType::float64);
}

Tensor norm_of_squares(const Tensor& squares) {
  NoGrad mode;
  return to(sqrt(squares), DType::float32);
}

Tensor sharded_norm(gsl::span<const Tensor> tensors, const ProcessGroup& group) {
  return norm_of_squares(sharded_squares(tensors, group));
}

Tensor clip_factor(const Tensor& norm, double max_norm) {
  NoGrad mode;
  Tensor divisor = add(norm, optim::ClipOptions{}.eps);
  return clamp_max(div(full_like(norm, max_norm), divisor), 1.0);
}

}  // namespace simmesh::zero
