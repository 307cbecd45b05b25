#pragma once

#include <gsl/span>
#include <string_view>

#include "core/ops/op.h"

namespace simmesh {

// repeats_elements is true if two elements of a plain tensor are at one place for sure, as those of
// an expanded tensor are.
bool repeats_elements(const Tensor& x);

// is_same_data is true if two tensors have the same elements at the same places.
bool is_same_data(const Tensor& a, const Tensor& b);

// check_repeated raises a RuntimeError where a tensor of that shape and strides has several
// elements at one place, so that an operation in place would write it several times.
void check_repeated(std::string_view where, DimSpan shape, DimSpan strides);

// check_overlaps raises a RuntimeError where an operation in place would read what it has already
// written: self has several elements at one place, or shares a part of its memory with an input.
// Follows PyTorch, which doesn't look at views whose elements have others between them.
void check_overlaps(const Op& op, const Tensor& self, gsl::span<const Tensor> inputs);

}  // namespace simmesh
