#include "core/optim/adafactor.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/arithmetic/functions.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/interpolation.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/reductions/statistics.h"
#include "core/ops/reductions/sums.h"
#include "core/optim/element_update.h"
#include "core/tensor/scalar_value.h"

namespace simmesh::optim {

namespace {

double root_mean_square(const Tensor& tensor) {
  Tensor length = vector_norm(tensor);
  return length.has_elements() ? scalar_value_or(length, 0.0) / std::sqrt(double(tensor.numel()))
                               : 0.0;
}

Shape without_dim(const Shape& shape, std::size_t from_end) {
  Shape result = shape;
  result[shape.size() - from_end] = 1;
  return result;
}

double epsilon_of(DType dtype) {
  return dtype == DType::float64   ? 0x1p-52
         : dtype == DType::float16 ? 0x1p-10
         : dtype == DType::float32 ? 0x1p-23
                                   : 0x1p-7;
}

// Averages the mean of the squares along a dim, which stays with size 1.
void average_squares(Tensor& average, const Tensor& gradient, std::int64_t dim, double weight) {
  Tensor length = vector_norm(gradient, 2.0, dim, true);
  Tensor mean = div(square(length), double(gradient.size(dim)));
  copy_(average, lerp(average, mean, weight));
}

}  // namespace

std::vector<std::string> Adafactor::state_names(std::size_t parameter) const {
  if (whole_shape(*this, parameter).size() > 1) return {"col_var", "row_var"};
  return {"variance"};
}

Tensor Adafactor::new_state(std::size_t parameter, const std::string& name) const {
  if (name == "variance") return Optimizer::new_state(parameter, name);
  return zeros(without_dim(whole_shape(*this, parameter), name == "row_var" ? 1 : 2),
               parameters()[parameter].dtype());
}

// Returns the estimate of the second moment, in memory of its own.
Tensor Adafactor::variance_of(std::size_t index, const Tensor& gradient, double eps1) {
  double weight = simmesh::power(double(state_of(index).steps), options_of(index).beta2_decay);
  if (gradient.dim() < 2) {
    Tensor& variance = state_tensor(index, "variance", gradient.shape(), gradient.dtype());
    copy_(variance, lerp(variance, mul(gradient, gradient), weight));
    return variance.clone();
  }
  Tensor &rows = state_tensor(index, "row_var"), &columns = state_tensor(index, "col_var");
  average_squares(rows, gradient, -1, weight);
  average_squares(columns, gradient, -2, weight);
  return div(mul(rows, columns), clamp_min(mean(rows, -2, true), eps1));
}

void Adafactor::update(std::size_t index, Tensor parameter, Tensor gradient) {
  NoGrad mode;
  const AdafactorOptions& options = options_of(index);
  double eps1 = options.eps1.value_or(epsilon_of(parameter.dtype()));
  double length = root_mean_square(parameter.detach());
  double alpha = std::max(options.eps2, length) *
                 std::min(options.lr, 1.0 / std::sqrt(double(state_of(index).steps)));
  Tensor ascent = options.maximize ? neg(gradient) : gradient;
  Tensor change = mul(rsqrt(clamp_min(variance_of(index, ascent, eps1), eps1 * eps1)), ascent);
  double divisor = std::max(1.0, root_mean_square(change) / options.d);
  double kept = 1.0 - options.lr * options.weight_decay;
  update_elements<2>({&parameter, &change}, [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    auto& [p, u] = values;
    p = p * T(kept) + T(-alpha / divisor) * u;
  });
}

}  // namespace simmesh::optim
