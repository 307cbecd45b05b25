#include "core/ops/kernels/unrounded_pointwise.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/arithmetic/sums/scaled_sums.h"
#include "core/arithmetic/unrounded.h"
#include "core/ops/attribute_names.h"
#include "core/ops/compute_mode.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/number.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

bool are_floating(gsl::span<const Tensor> inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [](const Tensor& input) {
    return input.is_defined() && is_floating_point(input.dtype());
  });
}

CarriedSums behind(const Tensor& operand, const Shape& shape) {
  return unrounded(operand.shape() == shape ? operand : expand(operand, shape));
}

bool add_unrounded(gsl::span<const Tensor> inputs, const Attributes& attributes, Tensor& out) {
  if (inputs.size() != 2 || !are_floating(inputs) || !is_floating_point(out.dtype())) return false;
  auto alpha = attributes.number_in(attribute::alpha);
  double factor = alpha ? alpha->as<double>() : 1.0;
  if (!std::isfinite(factor)) return false;
  if (out.numel() == 0) return true;
  CarriedSums terms[] = {behind(inputs[0], out.shape()),
                         scaled(behind(inputs[1], out.shape()), factor)};
  write_unrounded(out, sum_of(terms));
  return true;
}

bool divide_unrounded(gsl::span<const Tensor> inputs, const Attributes& attributes, Tensor& out) {
  auto other = attributes.number_in(attribute::other);
  if (inputs.size() != 1 || !other || !is_unrounded(inputs[0])) return false;
  double divisor = other->as<double>();
  if (!std::isfinite(divisor) || divisor == 0) return false;
  CarriedSums sums = unrounded(inputs[0]);
  if (!can_be_divided(sums, divisor)) return false;
  write_unrounded(out, divided(sums, divisor));
  return true;
}

using Write = bool (*)(gsl::span<const Tensor>, const Attributes&, Tensor&);

Op with_unrounded(Op op, Write write) {
  op.kernel = [plain = std::move(op.kernel), write](gsl::span<const Tensor> inputs,
                                                    const Attributes& attributes,
                                                    gsl::span<Tensor> outputs) {
    if (!keeps_unrounded() || !write(inputs, attributes, outputs[0]))
      plain(inputs, attributes, outputs);
  };
  return op;
}

}  // namespace

Op adding_unrounded(Op add) { return with_unrounded(std::move(add), add_unrounded); }
Op dividing_unrounded(Op div) { return with_unrounded(std::move(div), divide_unrounded); }

}  // namespace simmesh
