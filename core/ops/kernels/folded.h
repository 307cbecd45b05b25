#pragma once

#include "core/arithmetic/sums/sums.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/tensor/convert.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// Folded is a tensor to be reduced along some dims, as contiguous data of [outer, count, inner];
// count is reduced, in row-major order.
struct Folded {
  Tensor data;
  std::int64_t outer = 1;
  std::int64_t count = 1;
  std::int64_t inner = 1;

  std::int64_t results() const { return outer * inner; }
  // request is the sum over count of the given terms.
  SumRequest request(SumTerm term) const;
};

// folded copies only where the dims, which are ascending, aren't neighbours or x isn't contiguous.
Folded folded(const Tensor& x, const Dims& dims);

// reduced_shape returns the shape without the dims, or with size 1 there.
Shape reduced_shape(const Shape& shape, const Dims& dims, bool keepdim);

// fold writes one result for each (outer, inner): f(...f(f(x0, x1), x2)...) of count > 0 elements,
// ascending. The data and out are of dtype_of<C>.
template <class C, class F>
void fold(const Folded& x, gsl::span<C> out, F f) {
  auto in = x.data.values<C>();
  auto count = std::size_t(x.count), inner = std::size_t(x.inner);
  for (std::size_t outer = 0; outer < std::size_t(x.outer); ++outer) {
    const C* row = in.data() + outer * count * inner;
    C* result = out.data() + outer * inner;
    for (std::size_t i = 0; i < inner; ++i) result[i] = row[i];
    for (std::size_t k = 1; k < count; ++k)
      for (std::size_t i = 0; i < inner; ++i)
        result[i] = static_cast<C>(f(result[i], row[k * inner + i]));
  }
}

// fold_into folds x in the type it is computed in, and rounds the result once to the dtype of out.
template <class F>
void fold_into(const Tensor& x, const Dims& dims, Tensor& out, F f) {
  auto run = [&]<class C>(C) {
    Tensor folds = empty(out.shape(), dtype_of<C>);
    fold<C>(folded(converted(x, dtype_of<C>), dims), folds.mutable_values<C>(), f);
    adopt_(out, converted(folds, out.dtype()));
  };
  switch (compute_type_of(x.dtype())) {
    case ComputeType::float32: return run(float{});
    case ComputeType::float64: return run(double{});
    case ComputeType::int64: return run(std::int64_t{});
  }
}

}  // namespace simmesh
