#include "core/optim/ema.h"

#include <array>

#include "core/check/error.h"
#include "core/optim/element_update.h"

namespace simmesh::optim {

Ema::Ema(const std::vector<Tensor>& parameters, double decay)
    : parameters_(parameters), decay_(decay) {
  if (!(decay >= 0 && decay <= 1))
    raise(ErrorKind::value_error, "optim/ema", "expected a decay within [0, 1], got {}", decay);
  for (const Tensor& parameter : parameters_) averages_.push_back(parameter.detach().clone());
}

void Ema::update() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor values = parameters_[i].detach().clone();
    update_elements<2>({&averages_[i], &values}, [this](auto& v) {
      using T = std::decay_t<decltype(v[0])>;
      v[0] = T(decay_) * v[0] + T(1.0 - decay_) * v[1];
    });
  }
}

void Ema::copy_to(std::vector<Tensor>& parameters) const {
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    Tensor target = parameters.at(i).detach();
    copy_(target, averages_[i]);
  }
}

}  // namespace simmesh::optim
