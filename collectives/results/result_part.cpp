#include "collectives/results/result_part.h"

#include <fmt/format.h>

#include "core/tensor/elements_hash.h"

namespace simmesh {

ResultPart ResultPart::of(const Tensor& tensor) {
  if (!tensor.has_elements()) return {.shape = tensor.shape(), .dtype = tensor.dtype()};
  Tensor rows = tensor.contiguous();
  std::size_t begin = std::size_t(rows.storage_offset()) * bytes_per_element(rows.dtype());
  return {rows.storage()->buffer(), rows.storage()->buffer_offset() + begin, rows.shape(),
          rows.dtype(), elements_hash({rows.data(), rows.bytes()}, rows.dtype())};
}

Tensor ResultPart::to_tensor() const {
  std::size_t bytes = std::size_t(numel(shape)) * bytes_per_element(dtype);
  return Tensor(Storage::share(buffer, offset, bytes), dtype, DimSpan(shape));
}

std::string describe_operand(DType dtype, DimSpan shape) {
  return fmt::format("{}{}", to_string(dtype), to_string(shape));
}

}  // namespace simmesh
