#include "core/ops/promotion.h"

#include <algorithm>

#include "core/check/error.h"

namespace simmesh {

namespace {

// Returns 0 for bool, 1 for an integer, 2 for a floating dtype.
int kind_of(DType dtype) {
  if (dtype == DType::boolean) return 0;
  return is_floating_point(dtype) ? 2 : 1;
}

using MaybeDType = std::optional<DType>;

MaybeDType merged(MaybeDType a, MaybeDType b) {
  if (!a || !b) return a ? a : b;
  return promote_types(*a, *b);
}

MaybeDType by_kind(MaybeDType higher, MaybeDType lower) {
  if (!higher || !lower) return higher ? higher : lower;
  return kind_of(*lower) > kind_of(*higher) ? lower : higher;
}

}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (kind_of(a) != kind_of(b)) return kind_of(a) > kind_of(b) ? a : b;
  bool both_16_bit = bytes_per_element(a) == 2 && bytes_per_element(b) == 2;
  if (both_16_bit) return DType::float32;
  return bytes_per_element(a) > bytes_per_element(b) ? a : b;
}

void Promotion::take(DType dtype, bool has_dims) {
  MaybeDType& same = has_dims ? with_dims_ : without_dims_;
  same = merged(same, dtype);
}

void Promotion::take(const Number& number) {
  of_numbers_ = merged(of_numbers_, number.is_floating() ? DType::float32
                                    : number.is_bool()   ? DType::boolean
                                                         : DType::int64);
}

DType Promotion::result() const {
  MaybeDType result = by_kind(with_dims_, by_kind(without_dims_, of_numbers_));
  SIMMESH_CHECK(result, "no operand to take a dtype from");
  return *result;
}

DType result_type(gsl::span<const TensorType> tensors, gsl::span<const Number> numbers) {
  Promotion promotion;
  for (const TensorType& tensor : tensors)
    if (tensor.is_defined) promotion.take(tensor.dtype, !tensor.shape.empty());
  for (const Number& number : numbers) promotion.take(number);
  return promotion.result();
}

DType result_type(const Tensor& a, const Tensor& b) {
  TensorType types[] = {type_of(a), type_of(b)};
  return result_type(types);
}

Shape broadcast_shapes(gsl::span<const TensorType> tensors) {
  Shape result;
  for (const TensorType& tensor : tensors) {
    if (!tensor.is_defined) continue;
    const Shape& shape = tensor.shape;
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), 1);
    std::size_t added = result.size() - shape.size();
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      std::int64_t& size = result[added + dim];
      if (size == 1) size = shape[dim];
      if (shape[dim] != size && shape[dim] != 1)
        raise(ErrorKind::runtime_error, "ops/broadcast",
              "The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton "
              "dimension {}",
              size, shape[dim], added + dim);
    }
  }
  return result;
}

}  // namespace simmesh
