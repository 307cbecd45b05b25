#pragma once

#include <optional>

#include "core/ops/dim_list.h"
#include "core/ops/number.h"
#include "core/ops/op.h"

namespace simmesh {

// Reductions of all elements along dims, all dims by default: sums, products, and counts of nonzero
// elements. keepdim leaves reduced dims with size 1. Dims out of range raise an IndexError.

// sum adds up as the current arithmetic says: int64 for integers and bools unless a dtype is given,
// to which elements are converted first. mean divides the rounded sum once, floating only. prod
// multiplies in ascending order.
Tensor sum(const Tensor& x, const DimList& dims = {}, bool keepdim = false,
           std::optional<DType> dtype = {});
Tensor mean(const Tensor& x, const DimList& dims = {}, bool keepdim = false,
            std::optional<DType> dtype = {});
Tensor prod(const Tensor& x, std::optional<DType> dtype = {});
Tensor prod(const Tensor& x, const DimList& dims, bool keepdim = false,
            std::optional<DType> dtype = {});
// nansum counts NaN as zero.
Tensor nansum(const Tensor& x, const DimList& dims = {}, bool keepdim = false);

// any and all return whether some, or all, elements are nonzero; bool (uint8 for uint8).
Tensor any(const Tensor& x, const DimList& dims = {}, bool keepdim = false);
Tensor all(const Tensor& x, const DimList& dims = {}, bool keepdim = false);

// count_nonzero counts; int64.
Tensor count_nonzero(const Tensor& x, const DimList& dims = {});

}  // namespace simmesh
