#pragma once

#include <optional>

#include "core/ops/number.h"
#include "core/ops/op.h"

namespace simmesh {

// promote_types returns the least dtype that both dtypes convert to: torch.promote_types.
DType promote_types(DType a, DType b);

// Promotion takes the operands of an elementwise op one by one; see result_type for the rule.
class Promotion {
 public:
  // take adds an operand: a tensor, of which only its dtype and whether it has dims count, or a
  // number.
  void take(DType dtype, bool has_dims);
  void take(const Number& number);
  // result is their common dtype. Without any operand it breaks a contract.
  DType result() const;

 private:
  std::optional<DType> with_dims_, without_dims_, of_numbers_;
};

// result_type returns the common dtype of the operands of an elementwise op, as torch.result_type
// does. The kinds of dtypes are bool < integer < floating. A tensor without dims counts only if its
// kind is higher than those of all tensors with dims, and a number only if its kind is higher than
// those of all tensors. Undefined tensors don't count.
DType result_type(gsl::span<const TensorType> tensors, gsl::span<const Number> numbers = {});
DType result_type(const Tensor& a, const Tensor& b);

// broadcast_shapes returns the shape to which shapes broadcast; raises a RuntimeError that names
// the first dim that doesn't fit.
Shape broadcast_shapes(gsl::span<const TensorType> tensors);

}  // namespace simmesh
