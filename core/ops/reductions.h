#pragma once

#include <optional>

#include <simmesh/core/ops/dim_list.h>
#include <simmesh/core/ops/number.h>
#include <simmesh/core/ops/op.h>
#include <simmesh/core/ops/scans.h>
#include <simmesh/core/ops/statistics.h>

namespace simmesh {

// Reductions along dims, all of them by default. keepdim leaves reduced dims with size 1. Dims out
// of range raise an IndexError.

// sum adds up as the current arithmetic says: int64 for integers and bools unless a dtype is given,
// to which elements are converted first. mean divides the rounded sum once, floating only. prod
// multiplies in ascending order.
Tensor sum(const Tensor& x, const DimList& dims = {}, bool keepdim = false,
           std::optional<DType> dtype = {});
Tensor mean(const Tensor& x, const DimList& dims = {}, bool keepdim = false,
            std::optional<DType> dtype = {});
Tensor prod(const Tensor& x, std::optional<DType> dtype = {});
Tensor prod(const Tensor& x, std::int64_t dim, bool keepdim = false,
            std::optional<DType> dtype = {});
// nansum counts NaN as zero.
Tensor nansum(const Tensor& x, const DimList& dims = {}, bool keepdim = false);

// amax and amin return the largest and smallest elements, NaN if there is one; the gradient is
// shared by equal ones. An empty dim raises an IndexError.
Tensor amax(const Tensor& x, const DimList& dims = {}, bool keepdim = false);
Tensor amin(const Tensor& x, const DimList& dims = {}, bool keepdim = false);

// ValuesAndIndices are elements, and where along the dim they were (int64).
struct ValuesAndIndices {
  Tensor values;
  Tensor indices;
};
// max and min of the whole are amax and amin; along a dim they return the first index of the
// element too, which alone gets the gradient.
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);
ValuesAndIndices max(const Tensor& x, std::int64_t dim, bool keepdim = false);
ValuesAndIndices min(const Tensor& x, std::int64_t dim, bool keepdim = false);

// argmax and argmin return the first index, of the whole row-major tensor where no dim is given;
// int64.
Tensor argmax(const Tensor& x, std::optional<std::int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const Tensor& x, std::optional<std::int64_t> dim = {}, bool keepdim = false);

// any and all say whether some, or all, elements are nonzero; bool (uint8 for uint8).
Tensor any(const Tensor& x, const DimList& dims = {}, bool keepdim = false);
Tensor all(const Tensor& x, const DimList& dims = {}, bool keepdim = false);

// count_nonzero counts; int64.
Tensor count_nonzero(const Tensor& x, const DimList& dims = {});

// reduction_ops returns the ops of this family; those of the headers it includes have their own.
gsl::span<const Op* const> reduction_ops();

}  // namespace simmesh
