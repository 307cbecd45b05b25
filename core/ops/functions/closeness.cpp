#include "core/ops/functions/closeness.h"

#include "core/check/error.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/sums.h"
#include "core/tensor/known_tensor.h"

namespace simmesh {

Tensor isclose(const Tensor& a, const Tensor& b, const Tolerance& tolerance) {
  if (a.dtype() != b.dtype())
    raise(ErrorKind::runtime_error, "isclose", "{} did not match {}", to_string(a.dtype()),
          to_string(b.dtype()));
  Tensor close = eq(a, b);
  if (tolerance.equal_nan) close = logical_or(close, logical_and(isnan(a), isnan(b)));
  Tensor allowed = abs(mul(b, tolerance.relative)) + tolerance.absolute;
  Tensor error = abs(a - b);
  return logical_or(close, logical_and(isfinite(error), le(error, allowed)));
}

bool allclose(const Tensor& a, const Tensor& b, const Tolerance& tolerance) {
  Tensor are_close = all(isclose(a.detach(), b.detach(), tolerance));
  return known_tensor(are_close, "allclose").values<bool>()[0];
}

}  // namespace simmesh
