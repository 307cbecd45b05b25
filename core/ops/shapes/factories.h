#pragma once

#include <cstdint>
#include <optional>

#include "core/ops/op.h"

namespace simmesh {

// New tensors. empty, zeros, full and tensor_of are in core/tensor/tensor.h. A tensor made like a
// distributed tensor is distributed as that is, replicated where that is partial; one of another
// shape is replicated.

// ones returns a contiguous tensor of ones.
Tensor ones(DimSpan shape, DType dtype);
inline Tensor ones(std::initializer_list<std::int64_t> shape, DType dtype) {
  return ones(DimSpan(shape.begin(), shape.size()), dtype);
}

// scalar_tensor returns a tensor without dims.
Tensor scalar_tensor(double value, DType dtype = DType::float32);

// empty_like, zeros_like, ones_like and full_like return a contiguous tensor of the shape of x, and
// of its dtype where none is given.
Tensor empty_like(const Tensor& x, std::optional<DType> dtype = {});
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype = {});
Tensor ones_like(const Tensor& x, std::optional<DType> dtype = {});
Tensor full_like(const Tensor& x, double value, std::optional<DType> dtype = {});

// new_empty, new_zeros, new_ones and new_full return a tensor of any shape, of the dtype of x where
// none is given, and distributed if x is.
Tensor new_empty(const Tensor& x, DimSpan shape, std::optional<DType> dtype = {});
Tensor new_zeros(const Tensor& x, DimSpan shape, std::optional<DType> dtype = {});
Tensor new_ones(const Tensor& x, DimSpan shape, std::optional<DType> dtype = {});
Tensor new_full(const Tensor& x, DimSpan shape, double value, std::optional<DType> dtype = {});

// Range is start, start + step, ... below end, or above it for a negative step.
struct Range {
  double start = 0;
  double end = 0;
  double step = 1;
};
// arange returns start + i * step, computed in double and rounded once, for i below
// ceil((end - start) / step). Raises a RuntimeError for a step of zero or of the wrong sign.
Tensor arange(const Range& range, DType dtype);
// arange returns 0, 1, ... end - 1 as int64.
Tensor arange(std::int64_t end, DType dtype = DType::int64);

// Linspace is steps values from start to end, both included.
struct Linspace {
  double start = 0;
  double end = 1;
  std::int64_t steps = 100;
};
// linspace computes in double, the first half from the start and the second from the end, as
// PyTorch does, and rounds once. Raises a RuntimeError for steps below zero, as logspace does.
Tensor linspace(const Linspace& values, DType dtype = DType::float32);

// Logspace is steps powers of a base, from base^start to base^end, both included.
struct Logspace {
  double start = 0;
  double end = 1;
  std::int64_t steps = 100;
  double base = 10;
};
// logspace raises the base to the points of linspace, in double, and rounds once.
Tensor logspace(const Logspace& values, DType dtype = DType::float32);

// eye returns a matrix of ones on the diagonal; it is square where columns are not given.
Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns = {},
           DType dtype = DType::float32);

// The argument of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<double> fill_value{"fill_value"};
}  // namespace attribute

}  // namespace simmesh
