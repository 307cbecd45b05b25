#include "core/optim/asgd.h"

#include <algorithm>
#include <array>

#include "core/arithmetic/functions.h"
#include "core/optim/element_update.h"
#include "core/optim/scalar_state.h"

namespace simmesh::optim {

Tensor Asgd::new_state(std::size_t parameter, const std::string& name) const {
  if (name == "eta") return new_scalar_state(options_of(parameter).lr);
  return name == "mu" ? new_scalar_state(1.0) : Optimizer::new_state(parameter, name);
}

void Asgd::update(std::size_t index, Tensor parameter, Tensor gradient) {
  const AsgdOptions& options = options_of(index);
  double step = double(state_of(index).steps), sign = options.maximize ? -1.0 : 1.0;
  double eta = scalar_state(state_tensor(index, "eta"));
  double mu = scalar_state(state_tensor(index, "mu")), kept = 1.0 - options.lambd * eta;
  Tensor& average = state_tensor(index, "ax");
  update_elements<3>({&parameter, &gradient, &average}, [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    auto& [p, g, ax] = values;
    T decayed = T(sign) * g + T(options.weight_decay) * p;
    p = p * T(kept) - T(eta) * decayed;
    ax = mu == 1.0 ? p : ax + (p - ax) * T(mu);
  });
  double base = 1.0 + options.lambd * options.lr * step;
  set_scalar_state(state_tensor(index, "eta"),
                   float(options.lr / simmesh::power(base, options.alpha)));
  set_scalar_state(state_tensor(index, "mu"), float(1.0 / std::max(1.0, step - options.t0)));
}

}  // namespace simmesh::optim
