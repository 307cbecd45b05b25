#pragma once

#include "core/ops/kernels/places.h"

namespace simmesh {

// add_blocks writes x, with alpha times block i of source added to block places[i], to out: in
// ascending order, in float32 for 16-bit dtypes and int64 for integers, rounded once. In exact
// arithmetic each element is one sum, whatever the order of its terms; in a scope of KeepUnrounded
// it is the sum of the terms' unrounded sums.
struct BlockSum {
  const Tensor& x;
  const Places& places;
  std::int64_t block = 1;
  const Tensor& source;
  double alpha = 1;
};
void add_blocks(const BlockSum& sum, Tensor& out);

}  // namespace simmesh
