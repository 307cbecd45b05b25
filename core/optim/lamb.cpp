#include "core/optim/lamb.h"

#include <array>
#include <cmath>

#include "core/arithmetic/functions.h"
#include "core/optim/element_update.h"

namespace simmesh::optim {

namespace {

template <class T>
T lamb_step_size(const LambOptions& options, std::int64_t steps) {
  if (!options.bias_correction) return T(options.lr);
  T correction1 = T(1.0 - simmesh::power(double(T(options.beta1)), double(steps)));
  T correction2 = T(1.0 - simmesh::power(double(T(options.beta2)), double(steps)));
  return T(options.lr) * std::sqrt(correction2) / correction1;
}

template <class T>
T lamb_update(const LambOptions& options, T p, T m, T v) {
  T eps = T(options.eps);
  T denominator = options.eps_inside_sqrt ? std::sqrt(v + eps) : std::sqrt(v) + eps;
  return m / denominator + T(options.weight_decay) * p;
}

template <class T>
T trust_ratio(const LambOptions& options, double parameter_squares, double update_squares) {
  T of_parameter = std::sqrt(T(parameter_squares)), of_update = std::sqrt(T(update_squares));
  if (of_parameter == 0 || of_update == 0) return T(1);
  T ratio = of_parameter / of_update;
  if (ratio > T(options.max_coeff)) ratio = T(options.max_coeff);
  if (ratio < T(options.min_coeff)) ratio = T(options.min_coeff);
  return ratio;
}

}  // namespace

void Lamb::update(std::size_t index, Tensor parameter, Tensor gradient) {
  const LambOptions& options = options_of(index);
  std::int64_t steps = state_of(index).steps;
  const Shape& shape = parameter.shape();
  Tensor& average = state_tensor(index, "exp_avg", shape, parameter.dtype());
  Tensor& squares = state_tensor(index, "exp_avg_sq", shape, parameter.dtype());
  double parameter_squares = 0, update_squares = 0;
  update_elements<4>({&parameter, &gradient, &average, &squares}, [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    auto& [p, g, m, v] = values;
    T beta1 = T(options.beta1), beta2 = T(options.beta2);
    m = beta1 * m + (T(1) - beta1) * g;
    v = beta2 * v + (T(1) - beta2) * g * g;
    T change = lamb_update(options, p, m, v);
    parameter_squares += double(p) * double(p);
    update_squares += double(change) * double(change);
  });
  update_elements<3>({&parameter, &average, &squares}, [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    auto& [p, m, v] = values;
    T ratio = trust_ratio<T>(options, parameter_squares, update_squares);
    p -= lamb_step_size<T>(options, steps) * ratio * lamb_update(options, p, m, v);
  });
}

}  // namespace simmesh::optim
