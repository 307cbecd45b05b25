#include "core/ops/kernels/folded.h"

#include <algorithm>

namespace simmesh {

SumRequest Folded::request(SumTerm term) const {
  return {.data = data.data(),
          .dtype = data.dtype(),
          .outer = outer,
          .count = count,
          .inner = inner,
          .term = term};
}

Folded folded(const Tensor& x, const Dims& dims) {
  Folded result;
  if (dims.empty()) {
    result.data = x.contiguous();
    result.outer = x.numel();
    return result;
  }
  bool neighbours = dims.back() - dims.front() + 1 == std::int64_t(dims.size());
  Tensor source = x;
  std::int64_t first = dims.front();
  if (!neighbours) {
    Dims order;
    for (std::int64_t dim = 0; dim < x.dim(); ++dim)
      if (std::find(dims.begin(), dims.end(), dim) == dims.end()) order.push_back(dim);
    first = std::int64_t(order.size());
    order.insert(order.end(), dims.begin(), dims.end());
    source = x.permute(order);
  }
  std::int64_t last = first + std::int64_t(dims.size());
  for (std::int64_t dim = 0; dim < source.dim(); ++dim)
    (dim < first ? result.outer : dim < last ? result.count : result.inner) *= source.size(dim);
  result.data = source.contiguous();
  return result;
}

Shape reduced_shape(const Shape& shape, const Dims& dims, bool keepdim) {
  Shape result;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    bool is_reduced = std::find(dims.begin(), dims.end(), std::int64_t(dim)) != dims.end();
    if (!is_reduced)
      result.push_back(shape[dim]);
    else if (keepdim)
      result.push_back(1);
  }
  return result;
}

}  // namespace simmesh
