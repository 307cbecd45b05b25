#include "core/optim/rmsprop.h"

#include <array>
#include <cmath>

#include "core/optim/element_update.h"

namespace simmesh::optim {

std::vector<std::string> RmsProp::state_names(std::size_t parameter) const {
  const RmsPropOptions& options = options_of(parameter);
  std::vector<std::string> names;
  if (options.centered) names.push_back("grad_avg");
  if (options.momentum > 0) names.push_back("momentum_buffer");
  names.push_back("square_avg");
  return names;
}

// State that isn't kept is a copy of the gradient, which nobody reads again.
void RmsProp::update(std::size_t index, Tensor parameter, Tensor gradient) {
  const RmsPropOptions& options = options_of(index);
  double sign = options.maximize ? -1.0 : 1.0;
  bool is_centered = options.centered, has_momentum = options.momentum > 0;
  Tensor mean = is_centered ? state_tensor(index, "grad_avg") : gradient.clone();
  Tensor buffer = has_momentum ? state_tensor(index, "momentum_buffer") : gradient.clone();
  update_elements<5>({&parameter, &gradient, &state_tensor(index, "square_avg"), &mean, &buffer},
                     [&](auto& values) {
                       using T = std::decay_t<decltype(values[0])>;
                       auto& [p, g, v, a, b] = values;
                       T decayed = T(sign) * g + T(options.weight_decay) * p;
                       v = T(options.alpha) * v + T(1.0 - options.alpha) * decayed * decayed;
                       T second = v;
                       if (is_centered) {
                         a = a + T(1.0 - options.alpha) * (decayed - a);
                         second = v - a * a;
                       }
                       T direction = decayed / (std::sqrt(second) + T(options.eps));
                       if (has_momentum) direction = b = T(options.momentum) * b + direction;
                       p -= T(options.lr) * direction;
                     });
}

}  // namespace simmesh::optim
