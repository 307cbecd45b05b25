#pragma once

#include <cstdint>

#include "core/ops/number.h"
#include "core/ops/op.h"

namespace simmesh {

// Activation functions, elementwise. Where one is made of exponentials it is computed in double and
// rounded once.

// relu returns the larger of x and 0; its gradient at 0 is 0. relu_ does so in place.
Tensor relu(const Tensor& x);
Tensor& relu_(Tensor& self);
// relu6 returns x, kept within [0, 6]; hardtanh within given bounds.
Tensor relu6(const Tensor& x);
Tensor hardtanh(const Tensor& x, Number min_value = -1.0, Number max_value = 1.0);
// leaky_relu returns slope * x below 0.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
// threshold returns x where it is above the threshold, else the value.
Tensor threshold(const Tensor& x, Number threshold, Number value);

// silu returns x * sigmoid(x).
Tensor silu(const Tensor& x);

// Gelu is its form: x times the normal distribution function, or the approximation by tanh.
enum class Gelu : std::uint8_t { none, tanh };
Tensor gelu(const Tensor& x, Gelu approximate = Gelu::none);

// softplus returns log(1 + exp(beta * x)) / beta, and x where beta * x is above the threshold.
struct SoftplusOptions {
  double beta = 1.0;
  double threshold = 20.0;
};
Tensor softplus(const Tensor& x, const SoftplusOptions& options = {});
// logsigmoid returns log(sigmoid(x)); mish x * tanh(softplus(x)).
Tensor logsigmoid(const Tensor& x);
Tensor mish(const Tensor& x);

// elu returns alpha * (exp(x) - 1) below 0.
Tensor elu(const Tensor& x, double alpha = 1.0);
// hardsigmoid returns x / 6 + 1/2, kept within [0, 1]; hardswish x * hardsigmoid(x).
Tensor hardsigmoid(const Tensor& x);
Tensor hardswish(const Tensor& x);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<Number> min_val{"min_val"};
inline constexpr Attribute<Number> max_val{"max_val"};
inline constexpr Attribute<Number> negative_slope{"negative_slope"};
}  // namespace attribute

}  // namespace simmesh
