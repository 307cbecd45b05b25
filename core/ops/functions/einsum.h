#pragma once

#include <gsl/span>
#include <initializer_list>
#include <string_view>

#include "core/tensor/tensor.h"

namespace simmesh {

// einsum sums products by an equation of letters, with an ellipsis for broadcast leading dims:
// einsum("bij,bjk->bik", {a, b}). One or two operands.
Tensor einsum(std::string_view equation, gsl::span<const Tensor> operands);
inline Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands) {
  return einsum(equation, gsl::span<const Tensor>(operands.begin(), operands.size()));
}

}  // namespace simmesh
