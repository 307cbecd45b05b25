#include "core/ops/elementwise/backward.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/kernels/gelu_constants.h"

namespace simmesh {

namespace {

constexpr Saves both{.inputs = 0b11};

// A gradient is linear in the gradient of the result, whose own gradient goes through the same op.
using TwiceSlope = Tensor (*)(const Tensor& gradient, const Tensor& at, const GradientCall& call);

Gradient of_slope(TwiceSlope again, TwiceSlope bend) {
  return {[=](const GradientCall& call) {
            Gradients result(2);
            Tensor g = call.gradient();
            if (call.needs(0)) result[0] = again(g, call.input(1), call);
            if (call.needs(1)) result[1] = g * call.input(0) * bend(g, call.input(1), call);
            return result;
          },
          both};
}

Gradients threshold_backward_gradient(const GradientCall& call) {
  Gradients result(2);
  if (call.needs(0))
    result[0] = threshold_backward(call.gradient(), call.input(1),
                                   *call.attributes().number_in(attribute::threshold));
  return result;
}

Tensor sigmoid_bend(const Tensor&, const Tensor& y, const GradientCall&) { return 1 - y * 2; }
Tensor tanh_bend(const Tensor&, const Tensor& y, const GradientCall&) { return y * -2; }

Tensor silu_bend(const Tensor&, const Tensor& x, const GradientCall&) {
  Tensor s = sigmoid(x);
  return s * (1 - s) * (x * (1 - s * 2) + 2);
}

bool is_tanh(const GradientCall& call) {
  return call.attributes().get(attribute::approximate) == "tanh";
}

Tensor gelu_bend(const Tensor&, const Tensor& x, const GradientCall& call) {
  Tensor square = x * x;
  if (!is_tanh(call)) return exp(square * -0.5) * (0.5 * gelu_slope) * (2 - square);
  Tensor t = tanh((x + x * square * gelu_cubic) * gelu_slope);
  Tensor inner = (square * (3 * gelu_cubic) + 1) * gelu_slope;
  Tensor flat = 1 - t * t;
  Tensor second = x * (6 * gelu_cubic * gelu_slope) - t * inner * inner * 2;
  return flat * inner + x * flat * second * 0.5;
}

Tensor sigmoid_again(const Tensor& g, const Tensor& y, const GradientCall&) {
  return sigmoid_backward(g, y);
}
Tensor tanh_again(const Tensor& g, const Tensor& y, const GradientCall&) {
  return tanh_backward(g, y);
}
Tensor silu_again(const Tensor& g, const Tensor& x, const GradientCall&) {
  return silu_backward(g, x);
}
Tensor gelu_again(const Tensor& g, const Tensor& x, const GradientCall& call) {
  return gelu_backward(g, x, is_tanh(call) ? Gelu::tanh : Gelu::none);
}

}  // namespace

void backward_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"sigmoid_backward", of_slope(sigmoid_again, sigmoid_bend)},
      {"tanh_backward", of_slope(tanh_again, tanh_bend)},
      {"threshold_backward", {threshold_backward_gradient, {.inputs = 0b10}}},
      {"silu_backward", of_slope(silu_again, silu_bend)},
      {"gelu_backward", of_slope(gelu_again, gelu_bend)},
  };
  table.add(gradients);
}

}  // namespace simmesh
