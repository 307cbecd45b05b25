#include "fsdp/communication/communication.h"

#include "core/check/error.h"

namespace simmesh::fsdp {

Tensor allocated(const CommAllocate& allocate, const Shape& shape, DType dtype) {
  if (!allocate) return empty(DimSpan(shape), dtype);
  Tensor buffer = allocate(shape, dtype);
  bool fits = buffer.is_defined() && buffer.shape() == shape && buffer.dtype() == dtype &&
              buffer.is_contiguous();
  if (!fits)
    raise(ErrorKind::runtime_error, "fsdp/communication",
          "expected an allocate function that gives a contiguous {}{}, got {}", to_string(dtype),
          to_string(DimSpan(shape)),
          buffer.is_defined()
              ? fmt::format("{}{}", to_string(buffer.dtype()), to_string(DimSpan(buffer.shape())))
              : "an undefined tensor");
  return buffer;
}

}  // namespace simmesh::fsdp
