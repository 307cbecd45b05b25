#include "core/tensor/flat.h"

namespace simmesh {

std::vector<Tensor> flat_parts(const Tensor& flat, gsl::span<const Shape> shapes,
                               std::int64_t start) {
  std::vector<Tensor> parts;
  parts.reserve(shapes.size());
  for (const Shape& shape : shapes) {
    std::int64_t count = numel(shape);
    parts.push_back(flat.narrow({0, start, count}).view(shape));
    start += count;
  }
  return parts;
}

void copy_flat_(Tensor& flat, gsl::span<const Tensor> tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  std::vector<Tensor> parts = flat_parts(flat, shapes);
  for (std::size_t i = 0; i < parts.size(); ++i) copy_(parts[i], tensors[i]);
}

Tensor flattened(gsl::span<const Tensor> tensors, DType dtype) {
  std::int64_t count = 0;
  for (const Tensor& tensor : tensors) count += tensor.numel();
  Tensor flat = empty({count}, dtype);
  copy_flat_(flat, tensors);
  return flat;
}

Tensor as_bytes(const Tensor& tensor) {
  SIMMESH_CHECK(tensor.is_contiguous(), "expected a contiguous tensor");
  std::int64_t offset = tensor.storage_offset() * std::int64_t(bytes_per_element(tensor.dtype()));
  return Tensor(tensor.storage(), DType::uint8, Shape{std::int64_t(tensor.bytes())}, Strides{1},
                offset);
}

}  // namespace simmesh
