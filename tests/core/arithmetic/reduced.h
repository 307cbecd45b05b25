#pragma once

#include <vector>

#include "core/arithmetic/compute.h"
#include "core/tensor/tensor.h"

namespace simmesh {

inline void reduce_by(const Arithmetic& arithmetic, const Reduction& reduction) {
  compute(arithmetic, reduction);
}
template <class Order>
void reduce_by(const Order& order, const Reduction& reduction) {
  order.reduce(reduction);
}

// reduced returns the reduction of contiguous tensors of one shape and dtype, in the order of the
// list. `order` is an Arithmetic or an order such as RankOrder; `call` gives operation, factor and
// owner.
template <class Order>
Tensor reduced(const Order& order, const std::vector<Tensor>& operands, Reduction call = {}) {
  std::vector<const std::byte*> data;
  for (const Tensor& operand : operands) data.push_back(operand.data());
  Tensor result = empty(operands[0].shape(), operands[0].dtype());
  call.dtype = result.dtype();
  call.operands = data;
  call.count = result.numel();
  call.result = result.mutable_data();
  reduce_by(order, call);
  return result;
}

}  // namespace simmesh
