#include "core/ops/functions/bilinear.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/functions/einsum.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

Tensor bilinear(const Tensor& a, const Tensor& b, const Tensor& weight, const Tensor& bias) {
  bool fits = weight.dim() == 3 && a.dim() > 0 && a.dim() == b.dim() &&
              std::equal(a.shape().begin(), a.shape().end() - 1, b.shape().begin()) &&
              a.shape().back() == weight.size(1) && b.shape().back() == weight.size(2);
  if (!fits || (bias.is_defined() && bias.shape() != Shape{weight.size(0)}))
    raise(ErrorKind::runtime_error, "bilinear",
          "bilinear(): expected input1 [..., i], input2 [..., j], weight [o, i, j] and bias [o], "
          "got {}, {} and {}",
          to_string(DimSpan(a.shape())), to_string(DimSpan(b.shape())),
          to_string(DimSpan(weight.shape())));
  Tensor left = einsum("...i,oij->...oj", {a, weight});
  Tensor result = sum(mul(left, unsqueeze(b, -2)), {-1});
  return bias.is_defined() ? result + bias : result;
}

}  // namespace simmesh
