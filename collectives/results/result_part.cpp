#include "collectives/results/result_part.h"

#include <fmt/format.h>

namespace simmesh {

Tensor ResultPart::to_tensor() const {
  std::size_t bytes = std::size_t(numel(shape)) * bytes_per_element(dtype);
  return Tensor(Storage::share(buffer, offset, bytes), dtype, DimSpan(shape));
}

std::string describe_operand(DType dtype, DimSpan shape) {
  return fmt::format("{}{}", to_string(dtype), to_string(shape));
}

}  // namespace simmesh
