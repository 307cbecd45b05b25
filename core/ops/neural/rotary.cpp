#include "core/ops/neural/rotary.h"

#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"

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

}  // namespace

Tensor rotary_embedding(const Tensor& x, double theta) {
  check_shape(x);
  return rotary_embedding(x, arange(x.size(-2), DType::float64), theta);
}

Tensor rotary_embedding(const Tensor& x, const Tensor& positions, double theta) {
  check_shape(x);
  if (positions.dim() != 1 || positions.size(0) != x.size(-2))
    raise(ErrorKind::runtime_error, "rotary_embedding",
          "expected a position for each of {} rows, got the shape {}", x.size(-2),
          to_string(DimSpan(positions.shape())));
  std::int64_t half = x.shape().back() / 2;
  Tensor angles = rotary_angles(positions, 2 * half, theta);
  Tensor cosines = to(cos(angles), x.dtype()), sines = to(sin(angles), x.dtype());
  Tensor a = narrow(x, {-1, 0, half}), b = narrow(x, {-1, half, half});
  Tensor turned[] = {a * cosines - b * sines, b * cosines + a * sines};
  return cat(turned, -1);
}

}  // namespace simmesh
