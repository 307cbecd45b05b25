#include "core/ops/neural/convolution.h"

#include "core/gradients/aligned_operands.h"
#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/ops/compute_mode.h"
#include "core/ops/gradient_call.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

Gradients weight_gradient(const GradientCall& call) {
  Gradients gradients(2);
  Convolution options = convolution_of(call.attributes());
  Tensor g = call.gradient();
  if (call.needs(0))
    gradients[0] = convolution_input(call.input_type(0).shape, g, call.input(1), options);
  if (call.needs(1)) gradients[1] = convolution(call.input(0), g, {}, options);
  return gradients;
}

Gradients convolution_gradient(const GradientCall& call) {
  Gradients gradients(call.input_count());
  Convolution options = convolution_of(call.attributes());
  Tensor g = call.gradient(), x;
  if (call.needs(1)) {
    bool is_tiled = tiles_width(options, call.input_type(1).shape);
    std::vector<Tensor> operands =
        aligned_operands({call.input(0), g}, is_tiled ? "tiled_convolution" : "convolution");
    x = operands[0];
    g = operands[1];
  }
  if (call.needs(0))
    gradients[0] = convolution_input(
        call.input_type(0).shape, aligned_operands({call.input(1)}, "convolution")[0], g, options);
  if (call.needs(1)) {
    KeepUnrounded scope(call.is_unfinished(1));
    gradients[1] = convolution_weight(x, call.input_type(1).shape, g, options);
  }
  if (call.needs(2)) gradients[2] = summed_to_input(call, 2, movedim(g, 1, -1));
  return gradients;
}

}  // namespace

void convolution_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"convolution_weight", {weight_gradient, {.inputs = 0b11, .crosswise = true}}},
      {"convolution", {convolution_gradient, {.inputs = 0b11, .crosswise = true}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
