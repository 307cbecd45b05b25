#include "core/optim/matrix/torch_muon.h"

#include <algorithm>
#include <cmath>

#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/interpolation.h"
#include "core/optim/element_update.h"
#include "core/tensor/scalar_value.h"

namespace simmesh::optim {

namespace {

constexpr const char* muon_where = "optim/muon";

void require_options(const TorchMuonOptions& options) {
  // Written so that NaN is refused.
  if (!(options.lr >= 0.0))
    raise(ErrorKind::value_error, muon_where, "Learning rate should be >= 0 but is: {}",
          options.lr);
  if (!(options.momentum >= 0.0))
    raise(ErrorKind::value_error, muon_where, "momentum should be >= 0 but is: {}",
          options.momentum);
  if (!(options.weight_decay >= 0.0))
    raise(ErrorKind::value_error, muon_where, "weight decay should be >= 0 but is: {}",
          options.weight_decay);
}

double ratio_of(std::int64_t rows, std::int64_t columns) {
  if (columns == 0)
    raise(ErrorKind::zero_division_error, muon_where,
          "division by zero: expected a matrix with columns, got {} rows and none", rows);
  return double(rows) / double(columns);
}

double rate_of(MuonRate rate, std::int64_t rows, std::int64_t columns) {
  switch (rate) {
    case MuonRate::match_rms_adamw: return 0.2 * std::sqrt(double(std::max(rows, columns)));
    case MuonRate::spectral_unclamped: return std::sqrt(ratio_of(rows, columns));
    case MuonRate::original: break;
  }
  return std::sqrt(std::max(1.0, ratio_of(rows, columns)));
}

// Returns p + alpha u as PyTorch's kernels compute it, element by element.
//
// With 16 bits alpha is rounded to the dtype. Blocks of 32 elements are then computed in float32
// and rounded once; the elements after the last block round the product too. So do all elements
// where PyTorch has the direction as a transposed view.
class ScaledSum {
 public:
  ScaledSum(const Tensor& parameter, double alpha, bool is_transposed)
      : dtype_(parameter.dtype()),
        alpha_(is_narrow() ? rounded(float(alpha)) : alpha),
        blocks_end_(is_transposed ? 0 : parameter.numel() - parameter.numel() % block_size) {}

  template <class T>
  T next(T p, T u) {
    if (is_narrow() && place_++ >= blocks_end_) return p + T(rounded(float(alpha_) * float(u)));
    return std::fma(T(alpha_), u, p);
  }

 private:
  static constexpr std::int64_t block_size = 32;

  bool is_narrow() const { return dtype_ == DType::bfloat16 || dtype_ == DType::float16; }
  float rounded(float value) const {
    return dtype_ == DType::float16 ? static_cast<float>(static_cast<Half>(value))
                                    : static_cast<float>(static_cast<BFloat16>(value));
  }

  DType dtype_;
  double alpha_;
  std::int64_t blocks_end_;
  std::int64_t place_ = 0;
};

}  // namespace

MuonRate muon_rate_from_string(std::string_view name) {
  if (name == "original") return MuonRate::original;
  if (name == "match_rms_adamw") return MuonRate::match_rms_adamw;
  if (name == "spectral_unclamped") return MuonRate::spectral_unclamped;
  raise(ErrorKind::value_error, muon_where,
        "Adjust learning rate function {} is not supported, expected original, match_rms_adamw or "
        "spectral_unclamped",
        name);
}

void require_muon_input(const MuonInput& input) {
  if (input.is_complex)
    raise(ErrorKind::runtime_error, muon_where, "Muon does not support complex parameters");
  if (input.is_sparse)
    raise(ErrorKind::runtime_error, muon_where, "Muon does not support sparse gradients");
  if (input.dims != 2)
    raise(ErrorKind::value_error, muon_where,
          "Param gradient must be a 2D matrix, got one of {} dims", input.dims);
}

double muon_lr(const Tensor& lr) {
  if (lr.numel() != 1)
    raise(ErrorKind::value_error, muon_where, "Tensor lr must be 1-element, got {} elements",
          lr.numel());
  return scalar_value(lr);
}

Tensor muon_direction(Tensor& buffer, const Tensor& gradient, const TorchMuonOptions& options) {
  NoGrad mode;
  copy_(buffer, lerp(buffer, gradient, 1.0 - options.momentum));
  Tensor ahead = options.nesterov ? lerp(gradient, buffer, options.momentum) : buffer;
  return orthogonalized_by_quintic(ahead, options.iteration);
}

TorchMuon::TorchMuon(const std::vector<Group>& groups, Parts parts) : GroupedOptimizer(groups) {
  for (const Group& group : groups) {
    require_options(group.options);
    if (group.options.adam || parts == Parts::flat_pieces) continue;
    for (const Tensor& parameter : group.parameters)
      if (parameter.dim() != 2)
        raise(ErrorKind::value_error, muon_where,
              "Muon only supports 2D parameters whereas we found a parameter with size: {}",
              to_string(DimSpan(parameter.shape())));
  }
}

void TorchMuon::add_param_group(Group group) {
  require_options(group.options);
  add_group(std::move(group));
}

std::vector<std::string> TorchMuon::state_names(std::size_t parameter) const {
  if (!needs_whole(parameter)) return {"exp_avg", "exp_avg_sq"};
  return {"momentum_buffer"};
}

void TorchMuon::require_step(std::size_t index, const Tensor& gradient) const {
  require_muon_input({.dims = gradient.dim()});
  if (options_of(index).foreach)
    raise(ErrorKind::runtime_error, muon_where, "Foreach is not supported for Muon yet");
}

void TorchMuon::move_along(std::size_t index, Tensor parameter, Tensor direction,
                           const Shape& matrix) const {
  const TorchMuonOptions& options = options_of(index);
  double rate = rate_of(options.adjust_lr, matrix[0], matrix[1]);
  double kept = 1.0 - options.lr * options.weight_decay;
  // The decayed parameter is rounded before the step, as by PyTorch's two calls.
  update_elements<1>({&parameter}, [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    values[0] *= T(kept);
  });
  // A high matrix is transposed; without a step the copy is transposed back to what it was.
  bool is_transposed = matrix[0] > matrix[1] && matrix[1] > 1 && options.iteration.steps > 0;
  ScaledSum sum(parameter, -options.lr * rate, is_transposed);
  update_elements<2>({&parameter, &direction},
                     [&](auto& values) { values[0] = sum.next(values[0], values[1]); });
}

void TorchMuon::update(std::size_t index, Tensor parameter, Tensor gradient) {
  NoGrad mode;
  const TorchMuonOptions& options = options_of(index);
  if (options.adam) {
    AdamOptions adam = *options.adam;
    adam.lr = options.lr;
    adam.weight_decay = options.weight_decay;
    AdamTensors tensors{parameter, gradient, state_tensor(index, "exp_avg"),
                        state_tensor(index, "exp_avg_sq"), state_of(index).steps};
    return adam_(gsl::span<AdamTensors>(&tensors, 1), adam, options.adam_decay);
  }
  require_step(index, gradient);
  Tensor& buffer = state_tensor(index, "momentum_buffer", gradient.shape(), gradient.dtype());
  Tensor change = to(muon_direction(buffer, gradient, options), parameter.dtype());
  move_along(index, parameter, change, parameter.shape());
}

}  // namespace simmesh::optim
