#include "core/optim/rprop.h"

#include <algorithm>
#include <array>

#include "core/ops/shapes/factories.h"
#include "core/optim/element_update.h"

namespace simmesh::optim {

Tensor Rprop::new_state(std::size_t parameter, const std::string& name) const {
  Tensor zeros = Optimizer::new_state(parameter, name);
  return name == "step_size" ? full(zeros.shape(), zeros.dtype(), options_of(parameter).lr) : zeros;
}

void Rprop::update(std::size_t index, Tensor parameter, Tensor gradient) {
  const RpropOptions& options = options_of(index);
  double sign = options.maximize ? -1.0 : 1.0;
  Tensor &last = state_tensor(index, "prev"), &sizes = state_tensor(index, "step_size");
  update_elements<4>({&parameter, &gradient, &last, &sizes}, [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    auto& [p, g, previous, size] = values;
    T own = T(sign) * g, product = own * previous;
    T factor = product > 0    ? T(options.eta_plus)
               : product < 0  ? T(options.eta_minus)
               : product == 0 ? T(1)
                              : product;  // a NaN stays one
    T scaled = size * factor;
    size = scaled != scaled ? scaled : std::clamp(scaled, T(options.step_min), T(options.step_max));
    if (product < 0) own = T(0);
    p -= (own > 0 ? T(1) : own < 0 ? T(-1) : own) * size;
    previous = own;
  });
}

}  // namespace simmesh::optim
