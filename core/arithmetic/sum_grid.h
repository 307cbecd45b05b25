#pragma once

#include <cstdint>
#include <gsl/span>

#include <simmesh/core/tensor/tensor.h>

namespace simmesh {

// SumGrid is a grid of numbers k * 2^-scale with 64-bit k: terms are rounded onto it once, and then
// added as integers, which no order or grouping can change. It is chosen from the whole logical
// tensors before anything is added, never from a shard.
//
//   SumGrid grid = SumGrid::of({.magnitude_max = max_abs, .terms = ranks});
//   Tensor carried = grid.to_accumulators(values);      // int64; add these in any order
//   Tensor sum = grid.to_values(carried, DType::float32);
class SumGrid {
 public:
  struct Bound {
    double magnitude_max = 0;  // of any term
    std::int64_t terms = 1;    // that are added in all
  };

  // of returns the finest grid on which the sum of so many terms can't overflow: a term is at most
  // 2^51 steps, fewer for more than 4,095 terms. Throws a ValueError for a magnitude that isn't
  // finite.
  static SumGrid of(const Bound& bound);

  int scale() const { return scale_; }
  bool operator==(const SumGrid& other) const { return scale_ == other.scale_; }

  // to_accumulators rounds each element of a float32, float16 or bfloat16 tensor onto the grid,
  // ties to even. Throws a ValueError for elements that aren't finite or exceed the bound.
  Tensor to_accumulators(const Tensor& values) const;

  // to_values rounds int64 accumulators to the dtype, once.
  Tensor to_values(const Tensor& accumulators, DType dtype) const;

  // magnitude_max returns the largest finite |x| of a floating tensor; 0 for none.
  static double magnitude_max(const Tensor& values);

 private:
  SumGrid(int scale, double steps_max) : scale_(scale), steps_max_(steps_max) {}

  int scale_;
  double steps_max_;  // of one term
};

}  // namespace simmesh
