#include "core/ops/neural/losses.h"

#include "core/gradients/aligned_operands.h"
#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/ops/attribute_names.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/gradient_call.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/neural/gradient_operands.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

// Returns the gradient of a reduced loss for each element; a scalar broadcasts.
Tensor spread_gradient(const Tensor& gradient, const Attributes& attributes, const Shape& shape) {
  bool is_mean = reduction_of(attributes) == LossReduction::mean;
  return is_mean ? gradient / double(numel(shape)) : gradient;
}

struct NllLossOperands {
  Tensor gradient;
  Tensor x;
  Tensor target;
  Tensor total_weight;
  Tensor weight;  // undefined where there is none
};

// Returns distributed operands in one layout.
NllLossOperands aligned(const NllLossOperands& given, LossReduction reduction) {
  std::vector<Tensor> tensors = {given.gradient, given.x, given.target, given.total_weight};
  if (given.weight.is_defined()) tensors.push_back(given.weight);
  tensors = gradient_operands(
      tensors, {attribute::of = "nll_loss", attribute::reduction = std::int64_t(reduction)});
  return {tensors[0], tensors[1], tensors[2], tensors[3],
          given.weight.is_defined() ? tensors[4] : Tensor()};
}

Gradients nll_loss_gradient(const GradientCall& call) {
  const TensorType& x = call.input_type(0);
  std::int64_t dim = class_dim(x.shape.size());
  NllLossOperands operands = {.gradient = call.gradient(0),
                              .x = call.input(0),
                              .target = call.input(1),
                              .total_weight = call.output(1),
                              .weight = call.has_input(2) ? call.input(2) : Tensor()};
  LossReduction reduction = reduction_of(call.attributes());
  if (operands.x.distribution() && !grad_enabled()) operands = aligned(operands, reduction);
  ClassTargets targets =
      class_targets(operands.target, dim, call.attributes().get(attribute::ignore_index));
  Tensor g = operands.gradient;
  if (reduction == LossReduction::none) g = unsqueeze(g, dim);
  if (reduction == LossReduction::mean) g = g / operands.total_weight;
  Tensor slopes = neg(target_weights(targets, operands.weight, x.dtype)) * g;
  Gradients result(call.input_count());
  result[0] = scatter_add(zeros_like(operands.x), dim, targets.indices, to(slopes, x.dtype));
  return result;
}

Gradients logits_gradient(const GradientCall& call) {
  const Tensor &x = call.input(0), &target = call.input(1);
  Tensor g = spread_gradient(call.gradient(), call.attributes(), x.shape());
  if (call.has_input(2)) g = g * call.input(2);
  Gradients result(4);
  bool weighs = call.has_input(3);
  if (call.needs(0)) {
    Tensor slope = sigmoid(x) - target;
    if (weighs) {
      Tensor weighted = call.input(3) * target;
      slope = (weighted + 1 - target) * sigmoid(x) - weighted;
    }
    result[0] = summed_to_input(call, 0, slope * g);
  }
  if (call.needs(1)) {
    Tensor slope = neg(x);
    if (weighs) slope = slope - (call.input(3) - 1) * logsigmoid(x);
    result[1] = summed_to_input(call, 1, slope * g);
  }
  return result;
}

// DifferenceSlope is the slope of a loss of the difference of two tensors.
using DifferenceSlope = Tensor (*)(const Tensor& difference, const Attributes& attributes);

// Each gradient is computed on its own, as PyTorch does: partial operands are then reduced for
// each.
template <DifferenceSlope slope_of>
Gradients difference_loss_gradient(const GradientCall& call, const char* of) {
  Gradients result(2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!call.needs(i)) continue;
    std::vector<Tensor> operands =
        aligned_operands({call.gradient(), call.input(i), call.input(1 - i)}, of);
    Tensor difference = operands[1] - operands[2];
    Tensor slope = slope_of(difference, call.attributes()) *
                   spread_gradient(operands[0], call.attributes(), difference.shape());
    result[i] = summed_to_input(call, i, slope);
  }
  return result;
}

Tensor square_slope(const Tensor& difference, const Attributes&) { return difference * 2; }

Tensor huber_slope(const Tensor& difference, const Attributes& attributes) {
  double delta = attributes.get(attribute::delta);
  return clamp(difference, -delta, delta);
}

Tensor smooth_l1_slope(const Tensor& difference, const Attributes& attributes) {
  double beta = attributes.get(attribute::beta).as<double>();
  if (beta == 0) return sign(difference);
  return where(lt(abs(difference), beta), difference / beta, sign(difference));
}

Gradients mse_loss_gradient(const GradientCall& call) {
  return difference_loss_gradient<square_slope>(call, "mse_loss");
}
Gradients huber_loss_gradient(const GradientCall& call) {
  return difference_loss_gradient<huber_slope>(call, "elementwise");
}
Gradients smooth_l1_loss_gradient(const GradientCall& call) {
  return difference_loss_gradient<smooth_l1_slope>(call, "elementwise");
}

}  // namespace

void losses_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"nll_loss_forward", {nll_loss_gradient, {.inputs = 0b111, .outputs = 0b10}}},
      {"mse_loss", {mse_loss_gradient, {.inputs = 0b11}}},
      {"huber_loss", {huber_loss_gradient, {.inputs = 0b11}}},
      {"smooth_l1_loss", {smooth_l1_loss_gradient, {.inputs = 0b11}}},
      {"binary_cross_entropy_with_logits", {logits_gradient, {.inputs = 0b1111}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
