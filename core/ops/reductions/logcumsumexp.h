#pragma once

#include <cstdint>

#include "core/ops/op.h"

namespace simmesh {

// logcumsumexp returns log(exp(x0) + ... + exp(xk)) along a dim, each from the one before, in
// double, without leaving its range; rounded once. float32 for integers.
Tensor logcumsumexp(const Tensor& x, std::int64_t dim);

// logcumsumexp_ops returns the ops of this file.
gsl::span<const Op* const> logcumsumexp_ops();

}  // namespace simmesh
