#pragma once

namespace simmesh {

// Constants of gelu and its gradient: the root of 1/2, the root of 2 / pi, and the factor of the
// cubic term in the approximation by tanh.
inline constexpr double sqrt_half = 0.70710678118654752440;
inline constexpr double gelu_slope = 0.79788456080286535588;
inline constexpr double gelu_cubic = 0.044715;

}  // namespace simmesh
