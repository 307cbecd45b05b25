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
Tensor rotary_angles(std::int64_t positions, std::int64_t width, double theta) {
  NoGrad mode;
  Tensor exponents = arange(width / 2, DType::float64) * (-2.0 / double(width));
  Tensor frequencies = pow(theta, exponents);
  return unsqueeze(arange(positions, DType::float64), 1) * frequencies;
}

}  // namespace

Tensor rotary_embedding(const Tensor& x, double theta) {
  if (x.dim() < 2 || x.shape().back() % 2 != 0)
    raise(ErrorKind::runtime_error, "rotary_embedding",
          "expected [..., T, E] with an even E, got the shape {}", to_string(DimSpan(x.shape())));
  std::int64_t half = x.shape().back() / 2;
  Tensor angles = rotary_angles(x.size(x.dim() - 2), 2 * half, theta);
  Tensor cosines = to(cos(angles), x.dtype()), sines = to(sin(angles), x.dtype());
  Tensor a = narrow(x, {-1, 0, half}), b = narrow(x, {-1, half, half});
  Tensor turned[] = {a * cosines - b * sines, b * cosines + a * sines};
  return cat(turned, -1);
}

}  // namespace simmesh
