#include "core/optim/lion.h"

#include <array>

#include "core/optim/element_update.h"

namespace simmesh::optim {

void Lion::update(std::size_t index, Tensor parameter, Tensor gradient) {
  const LionOptions& options = options_of(index);
  double kept = 1.0 - options.lr * options.weight_decay;
  update_elements<3>({&parameter, &gradient, &state_tensor(index, "exp_avg")}, [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    auto& [p, g, m] = values;
    T sum = T(options.beta1) * m + T(1.0 - options.beta1) * g;
    T sign = sum > 0 ? T(1) : sum < 0 ? T(-1) : sum;  // a NaN stays one
    p = p * T(kept) - T(options.lr) * sign;
    m = T(options.beta2) * m + T(1.0 - options.beta2) * g;
  });
}

}  // namespace simmesh::optim
