#pragma once

#include <utility>
#include <vector>

#include "core/arithmetic/arithmetic.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// reduced returns the reduction of contiguous tensors of one shape and dtype, in the order of the
// list. `order` is an Arithmetic or a ReductionOrder; `call` gives operation, factor and owner.
template <class Order>
Tensor reduced(const Order& order, const std::vector<Tensor>& operands, Reduction call = {}) {
  std::vector<const std::byte*> data;
  for (const Tensor& operand : operands) data.push_back(operand.data());
  Tensor result = empty(operands[0].shape(), operands[0].dtype());
  call.dtype = result.dtype();
  call.operands = data;
  call.count = result.element_count();
  call.result = result.mutable_data();
  order.reduce(std::as_const(call));
  return result;
}

}  // namespace simmesh
