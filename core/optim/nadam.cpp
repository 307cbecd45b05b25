#include "core/optim/nadam.h"

#include <array>
#include <cmath>

#include "core/arithmetic/functions.h"
#include "core/optim/element_update.h"
#include "core/optim/scalar_state.h"

namespace simmesh::optim {

namespace {

double nadam_mu(const NAdamOptions& options, std::int64_t step) {
  double decay = simmesh::power(0.96, double(step) * options.momentum_decay);
  return options.beta1 * (1.0 - 0.5 * decay);
}

}  // namespace

Tensor NAdam::new_state(std::size_t parameter, const std::string& name) const {
  return name == "mu_product" ? new_scalar_state(1.0) : Optimizer::new_state(parameter, name);
}

void NAdam::update(std::size_t index, Tensor parameter, Tensor gradient) {
  const NAdamOptions& options = options_of(index);
  std::int64_t steps = state_of(index).steps;
  double mu = nadam_mu(options, steps), mu_next = nadam_mu(options, steps + 1);
  float product = scalar_state(state_tensor(index, "mu_product")) * float(mu);
  set_scalar_state(state_tensor(index, "mu_product"), product);
  double of_gradient = -options.lr * (1.0 - mu) / (1.0 - double(product));
  double of_average = -options.lr * mu_next / (1.0 - double(product) * mu_next);
  double correction = 1.0 - simmesh::power(options.beta2, double(steps));
  DecayFactors decay = DecayFactors::of(options, options.decoupled_weight_decay);
  Tensor &average = state_tensor(index, "exp_avg"), &squares = state_tensor(index, "exp_avg_sq");
  update_elements<4>({&parameter, &gradient, &average, &squares}, [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    auto& [p, g, m, v] = values;
    p *= T(decay.kept);
    T decayed = T(decay.sign) * g + T(decay.added) * p;
    m += T(1.0 - options.beta1) * (decayed - m);
    v = T(options.beta2) * v + T(1.0 - options.beta2) * decayed * decayed;
    T denominator = std::sqrt(v / T(correction)) + T(options.eps);
    p += T(of_gradient) * decayed / denominator;
    p += T(of_average) * m / denominator;
  });
}

}  // namespace simmesh::optim
