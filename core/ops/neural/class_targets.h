#pragma once

#include <cstdint>

#include "core/tensor/tensor.h"

namespace simmesh {

// Class targets, from which losses against class indices and their gradients are computed.

// class_dim returns the dim of the scores that has the classes: 0 for a vector, else 1.
std::int64_t class_dim(std::size_t rank);

// ClassTargets are class indices, without those that are ignored; both have a class dim of size 1.
struct ClassTargets {
  Tensor ignored;  // bool
  Tensor indices;  // 0 where ignored
};
// class_targets reads them from a target, which has no class dim.
ClassTargets class_targets(const Tensor& target, std::int64_t dim, std::int64_t ignore_index);

// target_weights returns the weight of each target's class, 1 for an undefined weight, and 0 where
// the target is ignored.
Tensor target_weights(const ClassTargets& targets, const Tensor& weight, DType dtype);

}  // namespace simmesh
