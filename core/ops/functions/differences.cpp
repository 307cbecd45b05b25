#include "core/ops/functions/differences.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/dim_list.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

Tensor diff(const Tensor& x, const Differences& options) {
  if (x.dim() == 0)
    raise(ErrorKind::runtime_error, "diff", "diff expects input to be at least one-dimensional");
  if (options.times < 0)
    raise(ErrorKind::runtime_error, "diff", "order must be non-negative but got {}", options.times);
  std::int64_t dim = wrapped_dim(options.dim, x.shape().size());
  std::vector<Tensor> parts;
  for (const Tensor& part : {options.prepend, x, options.append})
    if (part.is_defined()) parts.push_back(part);
  Tensor result = parts.size() == 1 ? x : cat(parts, dim);
  std::int64_t times = std::min(options.times, result.size(dim));
  for (std::int64_t i = 0; i < times; ++i) {
    std::int64_t size = result.size(dim);
    Tensor later = slice(result, {.dim = dim, .start = 1, .end = size});
    Tensor earlier = slice(result, {.dim = dim, .start = 0, .end = size - 1});
    result = x.dtype() == DType::boolean ? logical_xor(later, earlier) : later - earlier;
  }
  return result;
}

}  // namespace simmesh
