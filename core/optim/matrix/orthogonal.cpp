#include "core/optim/matrix/orthogonal.h"

#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/statistics.h"
#include "core/ops/shapes/views.h"

namespace simmesh::optim {

namespace {

constexpr const char* orthogonal_where = "optim/muon";

void require_iteration(const Tensor& x, const QuinticIteration& iteration) {
  if (iteration.steps >= 100)
    raise(ErrorKind::value_error, orthogonal_where,
          "Number of steps must be less than 100 for computational efficiency, got {}",
          iteration.steps);
  if (x.dim() != 2)
    raise(ErrorKind::value_error, orthogonal_where,
          "Input tensor gradient must be a 2D matrix, got {}", to_string(DimSpan(x.shape())));
  if (iteration.coefficients.size() != 3)
    raise(ErrorKind::value_error, orthogonal_where,
          "Coefficients must be a tuple of exactly 3 values, got {}",
          iteration.coefficients.size());
}

}  // namespace

Tensor orthogonalized_by_quintic(const Tensor& given, const QuinticIteration& iteration) {
  require_iteration(given, iteration);
  NoGrad mode;
  bool is_high = given.size(0) > given.size(1);
  Tensor x = to(given, DType::bfloat16);
  if (is_high) x = transpose(x, 0, 1);
  x = div(x, clamp(vector_norm(x), iteration.eps));
  double a = iteration.coefficients[0], b = iteration.coefficients[1],
         c = iteration.coefficients[2];
  for (std::int64_t step = 0; step < iteration.steps; ++step) {
    Tensor gram = mm(x, transpose(x, 0, 1));
    x = addmm(x, addmm(gram, gram, gram, {.beta = b, .alpha = c}), x, {.beta = a});
  }
  return is_high ? transpose(x, 0, 1).contiguous() : x;
}

}  // namespace simmesh::optim
