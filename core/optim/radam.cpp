#include "core/optim/radam.h"

#include <array>
#include <cmath>

#include "core/arithmetic/functions.h"
#include "core/optim/element_update.h"

namespace simmesh::optim {

namespace {

// Returns the rectification of the variance; 0 where there is none.
double radam_rectification(double beta2, double power2, std::int64_t steps) {
  double rho_inf = 2 / (1 - beta2) - 1;
  double rho = rho_inf - 2 * double(steps) * power2 / (1.0 - power2);
  if (rho <= 5.0) return 0.0;
  return std::sqrt((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho));
}

}  // namespace

void RAdam::update(std::size_t index, Tensor parameter, Tensor gradient) {
  const RAdamOptions& options = options_of(index);
  std::int64_t steps = state_of(index).steps;
  double correction1 = 1.0 - simmesh::power(options.beta1, double(steps));
  double power2 = simmesh::power(options.beta2, double(steps)), correction2 = 1.0 - power2;
  double rectification = radam_rectification(options.beta2, power2, steps);
  DecayFactors decay = DecayFactors::of(options, options.decoupled_weight_decay);
  Tensor &average = state_tensor(index, "exp_avg"), &squares = state_tensor(index, "exp_avg_sq");
  update_elements<4>({&parameter, &gradient, &average, &squares}, [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    auto& [p, g, m, v] = values;
    p *= T(decay.kept);
    T decayed = T(decay.sign) * g + T(decay.added) * p;
    m += T(1.0 - options.beta1) * (decayed - m);
    v = T(options.beta2) * v + T(1.0 - options.beta2) * decayed * decayed;
    T change = m / T(correction1) * T(options.lr);
    if (rectification > 0)
      change =
          change * (T(std::sqrt(correction2)) / (std::sqrt(v) + T(options.eps))) * T(rectification);
    p -= change;
  });
}

}  // namespace simmesh::optim
