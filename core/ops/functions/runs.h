#pragma once

#include <cstdint>
#include <optional>

#include "core/tensor/tensor.h"

namespace simmesh {

// Runs are the runs of equal elements of a tensor.
struct Runs {
  Tensor values;   // the first element of each run
  Tensor inverse;  // int64, of each element: the index of its run
  Tensor counts;   // int64, of each run: its length
};

// unique_consecutive finds the runs of a plain tensor's elements in row-major order, or of its
// slices along a dim. A NaN equals nothing. The inverse has the shape of x, or is a vector where a
// dim is given. Nothing of it is differentiable.
Runs unique_consecutive(const Tensor& x, std::optional<std::int64_t> dim = {});

}  // namespace simmesh
