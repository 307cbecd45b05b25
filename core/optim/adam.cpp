#include "core/optim/adam.h"

#include <array>
#include <cmath>

#include "core/autograd/variable.h"
#include "core/optim/element_update.h"
#include "core/tensor/convert.h"

namespace simmesh::optim {

namespace {

// power multiplies step by step, which gives the same bits everywhere.
double power(double base, std::int64_t exponent) {
  double result = 1.0;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

// Returns a power of a number from 0 to 1, correctly rounded in all but a few of a million cases,
// as the C library's is: products are kept with their rounding errors.
double rounded_power(double base, std::int64_t exponent) {
  struct Pair {
    double high, low;
    void multiply(Pair by) {
      double product = high * by.high;
      double error = std::fma(high, by.high, -product) + (high * by.low + low * by.high);
      high = product + error;
      low = error - (high - product);
    }
  };
  Pair result{1.0, 0.0}, square{base, 0.0};
  for (; exponent > 0; exponent >>= 1, square.multiply(square))
    if (exponent & 1) result.multiply(square);
  return result.high;
}

bool is_16_bit(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

// TorchAdamStep is the step of one element in the order of PyTorch's ops, where products are added
// by fused multiply-adds.
struct TorchAdamStep {
  const AdamOptions& options;
  DecayFactors factors;
  double step_size;
  double root_correction;
  // PyTorch's fused kernel computes the elements from here on in another order.
  std::int64_t vectors_end;
  std::int64_t place = 0;

  template <class Values>
  void operator()(Values& values) {
    using T = std::decay_t<decltype(values[0])>;
    T &p = values[0], &m = values[2], &v = values[3];
    T g = T(factors.sign) * values[1];
    if (factors.kept != 1.0) p *= T(factors.kept);
    if (factors.added != 0.0) g = std::fma(T(factors.added), p, g);
    T weight = T(1.0 - options.beta1);
    m = weight < T(0.5) ? std::fma(weight, g - m, m) : std::fma(weight - T(1), g - m, g);
    T scaled = T(1.0 - options.beta2) * g;
    if (options.form == AdamForm::fused && place++ >= vectors_end)
      v = std::fma(T(options.beta2), v, scaled * g);
    else
      v = std::fma(scaled, g, T(options.beta2) * v);
    T second = v;
    if constexpr (std::tuple_size_v<Values> == 5)
      second = values[4] = v > values[4] || v != v ? v : values[4];
    T denominator = std::sqrt(second) / T(root_correction) + T(options.eps);
    p += T(-step_size) * m / denominator;
  }
};

// The loop over the elements after the last vector of 64 bytes runs in vectors of half the size.
constexpr std::int64_t vector_bytes = 32;

void update(AdamTensors& tensors, const AdamOptions& options, WeightDecay decay) {
  bool corrects = options.bias_correction;
  auto power_of = options.form == AdamForm::plain ? power : rounded_power;
  double step_size =
      corrects ? options.lr / (1.0 - power_of(options.beta1, tensors.step)) : options.lr;
  double root_correction = corrects ? std::sqrt(1.0 - power_of(options.beta2, tensors.step)) : 1.0;
  DecayFactors factors = DecayFactors::of(options, decay == WeightDecay::decoupled);
  Tensor gradient = tensors.gradient.clone();
  auto step = [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    T &p = values[0], &g = values[1], &m = values[2], &v = values[3];
    p *= T(factors.kept);
    T decayed = T(factors.sign) * g + T(factors.added) * p;
    m = T(options.beta1) * m + T(1.0 - options.beta1) * decayed;
    v = T(options.beta2) * v + T(1.0 - options.beta2) * decayed * decayed;
    T second = v;
    if constexpr (std::tuple_size_v<std::decay_t<decltype(values)>> == 5)
      second = values[4] = v > values[4] || v != v ? v : values[4];
    T denominator = std::sqrt(second) / T(root_correction) + T(options.eps);
    p -= T(step_size) * (m / denominator);
  };
  Tensor &p = tensors.parameter, &m = tensors.exp_avg, &v = tensors.exp_avg_sq;
  auto run = [&](auto& one) {
    if (tensors.max_exp_avg_sq.is_defined())
      update_elements<5>({&p, &gradient, &m, &v, &tensors.max_exp_avg_sq}, one);
    else
      update_elements<4>({&p, &gradient, &m, &v}, one);
  };
  if (options.form == AdamForm::plain) return run(step);
  std::int64_t vector = vector_bytes / std::int64_t(bytes_per_element(p.dtype()));
  TorchAdamStep torch_step{.options = options,
                           .factors = factors,
                           .step_size = step_size,
                           .root_correction = root_correction,
                           .vectors_end = p.numel() - p.numel() % vector};
  run(torch_step);
}

}  // namespace

void adam_(gsl::span<AdamTensors> list, const AdamOptions& options, WeightDecay decay) {
  for (AdamTensors& tensors : list) {
    update(tensors, options, decay);
    tensors.parameter.storage()->count_change();
  }
}

Adam::Adam(std::vector<Group> groups, WeightDecay decay)
    : groups_(std::move(groups)), decay_(decay) {
  for (const Group& group : groups_) add_parameters(group.parameters);
}

void Adam::step() {
  std::size_t index = 0;
  for (const Group& group : groups_) {
    for (std::size_t i = 0; i < group.parameters.size(); ++i, ++index) {
      Tensor gradient = grad_of(parameters()[index]);
      if (!gradient.is_defined()) continue;
      AdamTensors tensors{parameters()[index].local_part(), gradient.local_part(),
                          state_tensor(index, "exp_avg"), state_tensor(index, "exp_avg_sq"),
                          ++state_of(index).steps};
      if (group.options.amsgrad) tensors.max_exp_avg_sq = state_tensor(index, "max_exp_avg_sq");
      // Parameters narrower than their state are updated as wide as it, and rounded once.
      Tensor narrow = tensors.parameter;
      DType dtype = tensors.exp_avg.dtype();
      bool is_narrow = narrow.dtype() != dtype;
      if (is_narrow) {
        tensors.parameter = converted(narrow.detach(), dtype).clone();
        tensors.gradient = converted(tensors.gradient.detach(), dtype);
      }
      adam_(gsl::span<AdamTensors>(&tensors, 1), group.options, decay_);
      if (is_narrow) copy_(narrow, converted(tensors.parameter, narrow.dtype()));
    }
  }
}

Tensor Adam::new_state(std::size_t parameter, const std::string& name) const {
  Tensor like = Optimizer::new_state(parameter, name);
  bool is_wide = groups_[group_of(parameter)].options.float32_state && is_16_bit(like.dtype());
  return is_wide ? zeros(like.shape(), DType::float32) : like;
}

std::vector<std::string> Adam::state_names(std::size_t parameter) const {
  std::vector<std::string> names = {"exp_avg", "exp_avg_sq"};
  if (groups_[group_of(parameter)].options.amsgrad) names.emplace_back("max_exp_avg_sq");
  return names;
}

std::vector<double> Adam::learning_rates() const {
  std::vector<double> rates;
  for (const Group& group : groups_) rates.push_back(group.options.lr);
  return rates;
}

void Adam::set_learning_rates(const std::vector<double>& rates) {
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].options.lr = rates.at(i);
}

std::vector<std::array<double, 2>> Adam::betas() const {
  std::vector<std::array<double, 2>> betas;
  for (const Group& group : groups_) betas.push_back({group.options.beta1, group.options.beta2});
  return betas;
}

void Adam::set_betas(const std::vector<std::array<double, 2>>& betas) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].options.beta1 = betas.at(i)[0];
    groups_[i].options.beta2 = betas.at(i)[1];
  }
}

void Adam::set_momenta(const std::vector<double>& momenta) {
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].options.beta1 = momenta.at(i);
}

}  // namespace simmesh::optim
