#include "core/ops/neural/convolution.h"

#include "core/gradients/families.h"
#include "core/gradients/input_gradient.h"
#include "core/ops/compute_mode.h"
#include "core/ops/gradient_call.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

Gradients weight_gradient(const GradientCall& call) {
  Gradients gradients(2);
  Convolution2d options = convolution_of(call.attributes());
  Tensor g = call.gradient();
  if (call.needs(0))
    gradients[0] = conv2d_input(call.input_type(0).shape, g, call.input(1), options);
  if (call.needs(1)) gradients[1] = conv2d(call.input(0), g, {}, options);
  return gradients;
}

Gradients convolution_gradient(const GradientCall& call) {
  Gradients gradients(call.input_count());
  Convolution2d options = convolution_of(call.attributes());
  Tensor g = call.gradient(), x = call.needs(1) ? call.input(0) : Tensor();
  if (x.is_defined() && x.distribution() && !grad_enabled()) align_operands(x, g, options);
  if (call.needs(0)) {
    bool moves = call.input(1).distribution() && !grad_enabled();
    Tensor weight = moves ? whole_weight(call.input(1), options) : call.input(1);
    gradients[0] = conv2d_input(call.input_type(0).shape, weight, g, options);
  }
  if (call.needs(1)) {
    UnroundedSums scope(call.is_unfinished(1));
    gradients[1] = conv2d_weight(x, call.input_type(1).shape, g, options);
  }
  if (call.needs(2)) gradients[2] = summed_to_input(call, 2, movedim(g, 1, -1));
  return gradients;
}

}  // namespace

gsl::span<const OpGradient> convolution_gradients() {
  static const OpGradient gradients[] = {
      {"convolution_weight", {weight_gradient, {.inputs = 0b11, .crosswise = true}}},
      {"convolution", {convolution_gradient, {.inputs = 0b11, .crosswise = true}}},
  };
  return gradients;
}

}  // namespace simmesh
