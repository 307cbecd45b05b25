#include "core/optim/adamax.h"

#include <array>
#include <cmath>

#include "core/arithmetic/functions.h"
#include "core/optim/element_update.h"

namespace simmesh::optim {

void Adamax::update(std::size_t index, Tensor parameter, Tensor gradient) {
  const AdamaxOptions& options = options_of(index);
  double correction = 1.0 - simmesh::power(options.beta1, double(state_of(index).steps));
  double step_size = options.lr / correction, sign = options.maximize ? -1.0 : 1.0;
  Tensor &average = state_tensor(index, "exp_avg"), &largest = state_tensor(index, "exp_inf");
  update_elements<4>({&parameter, &gradient, &average, &largest}, [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    auto& [p, g, m, u] = values;
    T decayed = T(sign) * g + T(options.weight_decay) * p;
    m += T(1.0 - options.beta1) * (decayed - m);
    T magnitude = std::abs(decayed) + T(options.eps), kept = T(options.beta2) * u;
    u = kept > magnitude || kept != kept ? kept : magnitude;  // a NaN stays one
    p -= T(step_size) * m / u;
  });
}

}  // namespace simmesh::optim
