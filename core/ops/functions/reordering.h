#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ops/shapes/views.h"

namespace simmesh {

// Variants of the views of views.h for several dims, and in place.

// movedim moves the dims at sources to destinations; the others keep their order. Raises a
// RuntimeError for lists of unequal length, and for a dim that comes twice.
Tensor movedim(const Tensor& x, DimSpan sources, DimSpan destinations);

// squeeze drops those of the given dims that have size one.
Tensor squeeze(const Tensor& x, DimSpan dims);

// tensor_split cuts a dim into that many parts, of which the first ones may be one longer, or
// before each of the indices. Raises a RuntimeError for a scalar, and for a number of parts
// below 1.
std::vector<Tensor> tensor_split(const Tensor& x, std::int64_t sections, std::int64_t dim = 0);
std::vector<Tensor> tensor_split(const Tensor& x, DimSpan indices, std::int64_t dim = 0);

// transpose_, t_, unsqueeze_ and squeeze_ make self the view, also for a distributed tensor. Copies
// of self keep their shape, and share the elements with it. They raise a RuntimeError for a leaf
// that requires a gradient while gradients are recorded.
Tensor& transpose_(Tensor& self, std::int64_t dim0, std::int64_t dim1);
Tensor& t_(Tensor& self);
Tensor& unsqueeze_(Tensor& self, std::int64_t dim);
Tensor& squeeze_(Tensor& self, std::optional<std::int64_t> dim = {});

}  // namespace simmesh
