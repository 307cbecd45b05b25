#include "core/ops/neural/rotary.h"

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/op_list.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

// Angles [T, E / 2] of positions and pairs.
Tensor rotary_angles(const Tensor& positions, std::int64_t width, double theta) {
  NoGrad mode;
  Tensor exponents = arange(width / 2, DType::float64) * (-2.0 / double(width));
  Tensor frequencies = pow(theta, exponents);
  return unsqueeze(to(positions, DType::float64), 1) * frequencies;
}

void check_shape(const Tensor& x) {
  if (x.dim() < 2 || x.shape().back() % 2 != 0)
    raise(ErrorKind::runtime_error, "rotary_embedding",
          "expected [..., T, E] with an even E, got the shape {}", to_string(DimSpan(x.shape())));
}

Tensor turned(const Tensor& x, const Tensor& positions, double theta, bool is_inverse) {
  std::int64_t half = x.shape().back() / 2;
  Tensor angles = rotary_angles(positions, 2 * half, theta);
  Tensor cosines = to(cos(angles), x.dtype()), sines = to(sin(angles), x.dtype());
  if (is_inverse) sines = neg(sines);
  Tensor a = narrow(x, {-1, 0, half}), b = narrow(x, {-1, half, half});
  Tensor coordinates[] = {a * cosines - b * sines, b * cosines + a * sines};
  return cat(coordinates, -1);
}

Tensor all_positions(const Tensor& x) { return arange(x.size(-2), DType::float64); }

// One op, so that its gradient is rounded alike wherever its rows are. Angles belong to positions,
// so a piece of the rows needs its own positions.
const Op rotary_op = {
    .name = "rotary_embedding",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
      return {inputs[0]};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          KeepUnrounded scope(false);
          const Tensor& x = inputs[0];
          adopt_(outputs[0],
                 turned(x, inputs.size() > 1 ? inputs[1] : all_positions(x),
                        attributes.get(attribute::theta), attributes.get(attribute::is_inverse)));
        },
};

Attributes attributes_of_turn(double theta) {
  return {attribute::theta = theta, attribute::is_inverse = false};
}

}  // namespace

Tensor rotary_embedding(const Tensor& x, double theta) {
  check_shape(x);
  return call_one(rotary_op, {x}, attributes_of_turn(theta));
}

Tensor rotary_embedding(const Tensor& x, const Tensor& positions, double theta) {
  check_shape(x);
  if (positions.dim() != 1 || positions.size(0) != x.size(-2))
    raise(ErrorKind::runtime_error, "rotary_embedding",
          "expected a position for each of {} rows, got the shape {}", x.size(-2),
          to_string(DimSpan(positions.shape())));
  return call_one(rotary_op, {x, positions}, attributes_of_turn(theta));
}

Tensor rotary_embedding_backward(const Tensor& gradient, const Tensor& positions,
                                 Attributes attributes) {
  attributes.set(attribute::is_inverse = !attributes.get(attribute::is_inverse));
  if (positions.is_defined()) return call_one(rotary_op, {gradient, positions}, attributes);
  return call_one(rotary_op, {gradient}, attributes);
}

void rotary_ops(OpList& ops) { ops.add({&rotary_op}); }

}  // namespace simmesh
