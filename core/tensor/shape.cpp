#include <algorithm>

#include <simmesh/core/check/error.h>
#include <simmesh/core/tensor/shape.h>

namespace simmesh {

std::int64_t element_count(DimSpan shape) {
  std::int64_t count = 1;
  bool overflow = false;
  for (std::int64_t size : shape) {
    if (size < 0)
      raise(ErrorKind::value_error, "tensor/shape", "expected sizes of at least 0, got {}",
            to_string(shape));
    overflow |= __builtin_mul_overflow(count, size, &count);
  }
  // A zero anywhere makes the tensor empty, whatever the other sizes multiply to.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  if (overflow)
    raise(ErrorKind::value_error, "tensor/shape",
          "expected fewer than 2^63 elements, got the shape {}", to_string(shape));
  return count;
}

Strides contiguous_strides(DimSpan shape) {
  Strides strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= std::max<std::int64_t>(shape[dim], 1);
  }
  return strides;
}

bool next_index(Dims& index, DimSpan shape) {
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    if (++index[dim] < shape[dim]) return true;
    index[dim] = 0;
  }
  return false;
}

std::string to_string(DimSpan dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

}  // namespace simmesh
