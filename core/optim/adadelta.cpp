#include "core/optim/adadelta.h"

#include <array>
#include <cmath>

#include "core/optim/element_update.h"

namespace simmesh::optim {

void Adadelta::update(std::size_t index, Tensor parameter, Tensor gradient) {
  const AdadeltaOptions& options = options_of(index);
  double sign = options.maximize ? -1.0 : 1.0;
  Tensor &squares = state_tensor(index, "square_avg"), &deltas = state_tensor(index, "acc_delta");
  update_elements<4>({&parameter, &gradient, &squares, &deltas}, [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    auto& [p, g, v, u] = values;
    T rho = T(options.rho), rest = T(1.0 - options.rho), eps = T(options.eps);
    T decayed = T(sign) * g + T(options.weight_decay) * p;
    v = rho * v + rest * decayed * decayed;
    T delta = std::sqrt(u + eps) / std::sqrt(v + eps) * decayed;
    u = rho * u + rest * delta * delta;
    p -= T(options.lr) * delta;
  });
}

}  // namespace simmesh::optim
