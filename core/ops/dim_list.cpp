#include "core/ops/dim_list.h"

#include <algorithm>
#include <numeric>

#include "core/check/error.h"

namespace simmesh {

std::int64_t wrapped_dim(std::int64_t dim, std::size_t rank) {
  auto bound = std::int64_t(std::max<std::size_t>(rank, 1));
  if (dim < -bound || dim >= bound)
    raise(ErrorKind::index_error, "ops/dims",
          "Dimension out of range (expected to be in range of [{}, {}], but got {})", -bound,
          bound - 1, dim);
  return dim < 0 ? dim + bound : dim;
}

Dims wrapped_dims(DimSpan dims, std::size_t rank) {
  Dims wrapped;
  if (dims.empty()) {
    wrapped.resize(rank);
    std::iota(wrapped.begin(), wrapped.end(), std::int64_t(0));
    return wrapped;
  }
  for (std::int64_t dim : dims) wrapped.push_back(wrapped_dim(dim, rank));
  std::sort(wrapped.begin(), wrapped.end());
  if (auto twice = std::adjacent_find(wrapped.begin(), wrapped.end()); twice != wrapped.end())
    raise(ErrorKind::runtime_error, "ops/dims", "dim {} appears multiple times in the list of dims",
          *twice);
  if (rank == 0) wrapped.clear();
  return wrapped;
}

}  // namespace simmesh
