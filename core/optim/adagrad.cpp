#include "core/optim/adagrad.h"

#include <array>
#include <cmath>

#include "core/optim/element_update.h"

namespace simmesh::optim {

void Adagrad::update(std::size_t index, Tensor parameter, Tensor gradient) {
  const AdagradOptions& options = options_of(index);
  std::int64_t steps = state_of(index).steps;
  bool is_first = !state_of(index).tensors.contains("sum");
  double rate = options.lr / (1.0 + double(steps - 1) * options.lr_decay);
  double sign = options.maximize ? -1.0 : 1.0;
  double initial = is_first ? options.initial_accumulator_value : 0.0;
  update_elements<3>({&parameter, &gradient, &state_tensor(index, "sum")}, [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    auto& [p, g, sum] = values;
    T decayed = T(sign) * g + T(options.weight_decay) * p;
    sum = sum + T(initial) + decayed * decayed;
    p -= T(rate) * (decayed / (std::sqrt(sum) + T(options.eps)));
  });
}

}  // namespace simmesh::optim
