#pragma once

#include "core/ops/gradient_call.h"

namespace simmesh {

// The gradients of ops that write a source [i][j] at [i][index[i][j]] along "dim". Their inputs are
// x, index and source.

// source_gradient returns the elements of the gradient at the places where the source's elements
// went, and zeros where the index has no place for them. Reads the input index.
Tensor source_gradient(const GradientCall& call, const Tensor& gradient);

// padded_source returns a tensor in the shape of the source from one with an element for each
// index.
Tensor padded_source(const GradientCall& call, const Tensor& elements);

}  // namespace simmesh
