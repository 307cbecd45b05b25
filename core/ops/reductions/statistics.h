#pragma once

#include "core/ops/dim_list.h"
#include "core/ops/op.h"

namespace simmesh {

// Variances and norms along dims, all of them by default. Sums add up as the current arithmetic
// says. Integers raise a RuntimeError, but of logsumexp.

// Spread is the divisor of var and std: the count minus the correction.
struct Spread {
  double correction = 1.0;
  bool keepdim = false;
};
// VarianceAndMean are the results of var_mean.
struct VarianceAndMean {
  Tensor variance;
  Tensor mean;
};
// var is the sum of squared deviations from the mean, divided; std its root.
Tensor var(const Tensor& x, const DimList& dims = {}, const Spread& spread = {});
Tensor std(const Tensor& x, const DimList& dims = {}, const Spread& spread = {});
VarianceAndMean var_mean(const Tensor& x, const DimList& dims = {}, const Spread& spread = {});

// logsumexp returns log(sum(exp(x))), computed from the maximum; float32 for integers.
Tensor logsumexp(const Tensor& x, const DimList& dims, bool keepdim = false);

// vector_norm is (sum |x|^p)^(1/p); the number of nonzero elements for p = 0, the largest or
// smallest magnitude for p = inf or -inf. norm is the same. The gradient of the 2-norm at 0 is 0.
Tensor vector_norm(const Tensor& x, double p = 2.0, const DimList& dims = {}, bool keepdim = false);
Tensor norm(const Tensor& x, double p = 2.0, const DimList& dims = {}, bool keepdim = false);
// dist is the p-norm of the difference.
Tensor dist(const Tensor& a, const Tensor& b, double p = 2.0);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<double> correction{"correction"};
inline constexpr Attribute<double> ord{"ord"};
}  // namespace attribute

}  // namespace simmesh
