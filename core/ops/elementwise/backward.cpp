#include "core/ops/elementwise/backward.h"

#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/kernels/gelu_constants.h"
#include "core/ops/op_list.h"
#include "core/ops/promotion.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Formula = Tensor (*)(Inputs inputs, const Attributes& attributes);

// Returns an op whose kernel is a formula of ops on plain tensors.
Op formula_op(const char* name, Formula formula) {
  return {
      .name = name,
      .shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
        return {{broadcast_shapes(inputs), result_type(inputs)}};
      },
      .kernel =
          [formula](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
            adopt_(outputs[0], to(formula(inputs, attributes), outputs[0].dtype()).contiguous());
          },
  };
}

const Op sigmoid_backward_op = formula_op(
    "sigmoid_backward", [](Inputs in, const Attributes&) { return in[0] * ((1 - in[1]) * in[1]); });

const Op tanh_backward_op = formula_op(
    "tanh_backward", [](Inputs in, const Attributes&) { return in[0] * (1 - in[1] * in[1]); });

const Op threshold_backward_op =
    formula_op("threshold_backward", [](Inputs in, const Attributes& attributes) {
      return masked_fill(in[0], le(in[1], *attributes.number_in(attribute::threshold)), 0);
    });

const Op silu_backward_op = formula_op("silu_backward", [](Inputs in, const Attributes&) {
  Tensor s = sigmoid(in[1]);
  return in[0] * (s * (1 + in[1] * (1 - s)));
});

Tensor gelu_derivative(const Tensor& x) {
  Tensor normal = (erf(x * sqrt_half) + 1) * 0.5;
  Tensor density = exp(x * x * -0.5) * (0.5 * gelu_slope);
  return normal + x * density;
}

Tensor gelu_tanh_derivative(const Tensor& x) {
  Tensor square = x * x;
  Tensor t = tanh((x + x * square * gelu_cubic) * gelu_slope);
  Tensor inner = (square * (3 * gelu_cubic) + 1) * gelu_slope;
  return (t + 1) * 0.5 + x * (1 - t * t) * inner * 0.5;
}

const Op gelu_backward_op =
    formula_op("gelu_backward", [](Inputs in, const Attributes& attributes) {
      bool is_tanh = attributes.get(attribute::approximate) == "tanh";
      return in[0] * (is_tanh ? gelu_tanh_derivative(in[1]) : gelu_derivative(in[1]));
    });

}  // namespace

Tensor sigmoid_backward(const Tensor& gradient, const Tensor& y) {
  return call_one(sigmoid_backward_op, {gradient, y});
}
Tensor tanh_backward(const Tensor& gradient, const Tensor& y) {
  return call_one(tanh_backward_op, {gradient, y});
}
Tensor threshold_backward(const Tensor& gradient, const Tensor& x, Number threshold) {
  return call_one(threshold_backward_op, {gradient, x}, {attribute::threshold = threshold});
}
Tensor silu_backward(const Tensor& gradient, const Tensor& x) {
  return call_one(silu_backward_op, {gradient, x});
}
Tensor gelu_backward(const Tensor& gradient, const Tensor& x, Gelu approximate) {
  return call_one(
      gelu_backward_op, {gradient, x},
      {attribute::approximate = std::string(approximate == Gelu::tanh ? "tanh" : "none")});
}

void backward_ops(OpList& ops) {
  ops.add({&sigmoid_backward_op, &tanh_backward_op, &threshold_backward_op, &silu_backward_op,
           &gelu_backward_op});
}

}  // namespace simmesh
