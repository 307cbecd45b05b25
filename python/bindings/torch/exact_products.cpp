#include "python/bindings/torch/exact_products.h"

#include <optional>
#include <vector>

#include "core/check/error.h"
#include "python/bindings/torch/tensor_layout.h"
#include "python/bindings/torch/torch_array.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

constexpr const char* product_place = "python/exact";

// Matrices are the operand of a product: a number of them, or one for each of the other side's.
struct Matrices {
  ElementArray array;
  std::int64_t batch = 1, rows = 0, columns = 0;

  ProductOperand at(std::int64_t index) const {
    std::size_t dims = array.shape.size();
    std::int64_t step = dims == 3 && batch > 1 ? array.strides[0] : 0;
    return {array.data + index * step * array.element_bytes(), array.dtype, array.strides[dims - 2],
            array.strides[dims - 1]};
  }
};

Matrices matrices_of(nb::handle tensor) {
  Matrices matrices{.array = element_array(tensor)};
  const Shape& shape = matrices.array.shape;
  std::optional<TensorLayout> layout = layout_of(tensor);
  if (layout ? layout->is_complex : nb::cast<std::size_t>(tensor.attr("dim")()) != shape.size())
    raise(ErrorKind::type_error, product_place,
          "product: expected a floating dtype, got a complex one");
  if (shape.size() != 2 && shape.size() != 3)
    raise(ErrorKind::value_error, product_place, "product: expected 2 or 3 dims, got shape {}",
          to_string(DimSpan(shape)));
  if (shape.size() == 3) matrices.batch = shape[0];
  matrices.rows = shape[shape.size() - 2];
  matrices.columns = shape[shape.size() - 1];
  return matrices;
}

}  // namespace

ExactValues matrix_product(nb::handle a, nb::handle b) {
  Matrices left = matrices_of(a), right = matrices_of(b);
  if (left.columns != right.rows ||
      (left.batch != right.batch && left.batch != 1 && right.batch != 1))
    raise(ErrorKind::value_error, product_place,
          "product: expected shapes that go together, got {} and {}",
          to_string(DimSpan(left.array.shape)), to_string(DimSpan(right.array.shape)));
  std::int64_t batch = left.batch == 1 ? right.batch : left.batch;
  nb::gil_scoped_release unlocked;
  std::vector<ExactValues> parts;
  for (std::int64_t i = 0; i < batch; ++i)
    parts.push_back(ExactValues::of_product({.rows = left.rows,
                                             .columns = right.columns,
                                             .depth = left.columns,
                                             .a = left.at(left.batch == 1 ? 0 : i),
                                             .b = right.at(right.batch == 1 ? 0 : i)}));
  return batch == 1 ? parts[0] : ExactValues::joined(parts);
}

}  // namespace simmesh::python
