#include "core/tensor/shape.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh {

namespace {

// Handles sizes of any value.
std::int64_t checked_element_count(DimSpan shape) {
  const std::int64_t* sizes = shape.data();
  std::int64_t count = 1;
  bool overflow = false, is_empty = false, is_negative = false;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    is_empty |= sizes[dim] == 0;
    is_negative |= sizes[dim] < 0;
    overflow |= __builtin_mul_overflow(count, sizes[dim], &count);
  }
  if (is_negative)
    raise(ErrorKind::value_error, "tensor/shape", "expected sizes of at least 0, got {}",
          to_string(shape));
  // A zero anywhere makes the tensor empty, whatever the other sizes multiply to.
  if (is_empty) return 0;
  if (overflow)
    raise(ErrorKind::value_error, "tensor/shape",
          "expected fewer than 2^63 elements, got the shape {}", to_string(shape));
  return count;
}

}  // namespace

// Uses pointers, since a span's iterators check every step and each new tensor calls this. A
// product of two numbers below 2^31 doesn't overflow.
std::int64_t numel(DimSpan shape) {
  std::int64_t count = 1;
  const std::int64_t* end = shape.data() + shape.size();
  for (const std::int64_t* size = shape.data(); size != end; ++size) {
    if ((std::uint64_t(count) | std::uint64_t(*size)) >> 31 != 0) [[unlikely]]
      return checked_element_count(shape);
    count *= *size;
  }
  return count;
}

Strides contiguous_strides(DimSpan shape) {
  Strides strides;
  const std::int64_t* end = shape.data() + shape.size();
  for (const std::int64_t* size = shape.data(); size != end; ++size) strides.push_back(*size);
  std::int64_t* out = strides.data();
  std::int64_t stride = 1;
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    std::int64_t size = out[dim];
    out[dim] = stride;
    stride *= std::max<std::int64_t>(size, 1);
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

std::string to_string(DimSpan dims) { return fmt::format("[{}]", join_text(dims, ", ")); }

}  // namespace simmesh

fmt::appender fmt::formatter<simmesh::Dims>::format(const simmesh::Dims& dims,
                                                    fmt::format_context& context) const {
  std::string text = simmesh::to_string(dims);
  return std::copy(text.begin(), text.end(), context.out());
}
