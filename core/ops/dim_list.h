#pragma once

#include <concepts>
#include <initializer_list>

#include "core/tensor/shape.h"

namespace simmesh {

// DimList is the dims that an op works along; an empty list means all of them. Negative dims count
// from the end.
//
//   sum(x, 1);  sum(x, {0, -1}, true);  sum(x, dims);
class DimList {
 public:
  DimList() = default;
  DimList(std::integral auto dim) : dims_{std::int64_t(dim)} {}
  DimList(std::initializer_list<std::int64_t> dims) : dims_(dims.begin(), dims.end()) {}
  DimList(DimSpan dims) : dims_(dims.begin(), dims.end()) {}
  DimList(Dims dims) : dims_(std::move(dims)) {}

  const Dims& dims() const { return dims_; }

 private:
  Dims dims_;
};

// wrapped_dim takes a dim that may count from the end, and returns it counted from the front, in
// [0, rank). A scalar counts as having one dim. Raises an IndexError for a dim out of range.
std::int64_t wrapped_dim(std::int64_t dim, std::size_t rank);

// wrapped_dims does the same for several dims and returns them in ascending order; for an empty
// list it returns all dims. Raises an IndexError for a dim out of range and a RuntimeError for a
// dim named twice.
Dims wrapped_dims(DimSpan dims, std::size_t rank);

}  // namespace simmesh
