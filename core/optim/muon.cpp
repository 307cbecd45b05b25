#include "core/optim/muon.h"

#include <array>
#include <cmath>

#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/interpolation.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/optim/element_update.h"
#include "core/optim/loss_scaler.h"

namespace simmesh::optim {

std::vector<std::string> Muon::state_names(std::size_t parameter) const {
  if (!needs_whole(parameter)) return {"exp_avg", "exp_avg_sq"};
  return {"momentum_buffer"};
}

void Muon::update_by_adam(std::size_t index, const Tensor& parameter, const Tensor& gradient) {
  const MuonOptions& options = options_of(index);
  AdamOptions adam = *options.adam;
  adam.lr = options.lr;
  adam.weight_decay = options.weight_decay;
  AdamTensors tensors{parameter, gradient, state_tensor(index, "exp_avg"),
                      state_tensor(index, "exp_avg_sq"), state_of(index).steps};
  adam_(gsl::span<AdamTensors>(&tensors, 1), adam, options.adam_decay);
}

// Returns the orthogonalised momentum in the shape and dtype of the gradient.
Tensor Muon::direction(std::size_t index, const Tensor& gradient) {
  const MuonOptions& options = options_of(index);
  Tensor& buffer = state_tensor(index, "momentum_buffer", gradient.shape(), gradient.dtype());
  bool is_finite = all_finite(gradient);
  if (is_finite) copy_(buffer, lerp(buffer, gradient, 1.0 - options.beta));
  Tensor ahead = lerp(gradient, buffer, options.beta);
  if (!is_finite) return ahead;
  if (gradient.dim() == 4)
    ahead = ahead.view(Shape{gradient.size(0), gradient.numel() / gradient.size(0)});
  double rows = double(gradient.size(-2)), columns = double(gradient.size(-1));
  double scale = rows > columns ? std::sqrt(rows / columns) : 1.0;
  Tensor result = mul(orthogonalized(ahead, options.ns_method, 5, options.ns_dtype), scale);
  return to(result, gradient.dtype()).contiguous().view(gradient.shape());
}

void Muon::update(std::size_t index, Tensor parameter, Tensor gradient) {
  NoGrad mode;
  if (!needs_whole(index)) return update_by_adam(index, parameter, gradient);
  if (parameter.dim() < 2)
    raise(ErrorKind::value_error, "optim/muon", "expected a tensor of at least 2 dims, got {}",
          to_string(DimSpan(parameter.shape())));
  const MuonOptions& options = options_of(index);
  Tensor change = direction(index, gradient);
  double kept = 1.0 - options.lr * options.weight_decay;
  update_elements<2>({&parameter, &change}, [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    auto& [p, u] = values;
    p = p * T(kept) + T(-options.lr) * u;
  });
}

}  // namespace simmesh::optim
