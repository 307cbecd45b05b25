#pragma once

#include <gsl/span>

#include "collectives/process_group.h"
#include "core/tensor/tensor.h"

namespace simmesh::zero {

// are_all_finite returns on every member whether all elements of all members' tensors are finite.
// Costs one all-reduce of a byte.
bool are_all_finite(gsl::span<const Tensor> tensors, const ProcessGroup& group);

// sharded_squares returns the sum of the squares of all elements of all members' tensors, as
// float64 without dims. Squares are added up in float64, and those of the members in float32: one
// all-reduce of 4 bytes. In exact arithmetic the sum is unrounded.
Tensor sharded_squares(gsl::span<const Tensor> tensors, const ProcessGroup& group);

// norm_of_squares returns the root of such a sum, as float32. In exact arithmetic the sum is
// rounded once, so the norm has the bits of one device.
Tensor norm_of_squares(const Tensor& squares);

// sharded_norm returns the 2-norm of all elements of all members' tensors.
Tensor sharded_norm(gsl::span<const Tensor> tensors, const ProcessGroup& group);

// clip_factor returns min(1, max_norm / (norm + 1e-6)), the factor that brings the norm of
// gradients down to max_norm.
Tensor clip_factor(const Tensor& norm, double max_norm);

}  // namespace simmesh::zero
