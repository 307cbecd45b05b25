#pragma once

#include <cstdint>

#include "core/ops/op.h"

namespace simmesh {

// logcumsumexp returns log(exp(x0) + ... + exp(xk)) along a dim, each from the one before, in
// double, without leaving its range; rounded once. float32 for integers.
Tensor logcumsumexp(const Tensor& x, std::int64_t dim);

// With y = logcumsumexp(x), scans of weights w, of which gradients are made: the reverse one sums
// w[k] exp(x[j] - y[k]) over k from j on for each j; the forward one over j up to k, with w[j], for
// each k.
Tensor logcumsumexp_reverse(const Tensor& weights, const Tensor& x, const Tensor& y,
                            std::int64_t dim);
Tensor logcumsumexp_forward(const Tensor& weights, const Tensor& x, const Tensor& y,
                            std::int64_t dim);

}  // namespace simmesh
