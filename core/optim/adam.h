#pragma once

#include <array>
#include <gsl/span>

#include "core/optim/momenta.h"
#include "core/optim/optimizer.h"

namespace simmesh::optim {

// AdamForm selects the roundings of a step. plain computes as adam_ says, without fused
// multiply-adds. The others have the bits of PyTorch's CPU kernels for float32 with vectors of 64
// bytes, as far as its square roots are rounded correctly: exp_avg is a lerp, and squares, lerps
// and added decay use fused multiply-adds. for_loop and foreach run the same kernels one after
// another. The fused kernel, also that for float64 and 16 bits, adds the square of the elements
// after the last 32 bytes in another order, so that its bits depend on how a parameter is cut.
enum class AdamForm : std::uint8_t { plain, for_loop, foreach, fused };

// AdamOptions are PyTorch's, and DeepSpeed's bias_correction.
struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool bias_correction = true;  // without it the moments are used as they are
  bool amsgrad = false;         // divides by the largest second moment so far
  bool maximize = false;        // follows the gradient upwards
  AdamForm form = AdamForm::plain;
  // The state of 16-bit parameters is float32, as that of DeepSpeed's CPU Adam; else it has their
  // dtype.
  bool float32_state = false;
};

// WeightDecay is where Adam applies the decay: to the gradient, or to the parameter itself before
// the step (AdamW).
enum class WeightDecay : std::uint8_t { added, decoupled };

// AdamTensors is one parameter with its gradient and moments; contiguous, of one shape and dtype.
// step counts from 1.
struct AdamTensors {
  Tensor parameter;
  Tensor gradient;
  Tensor exp_avg;
  Tensor exp_avg_sq;
  std::int64_t step = 1;
  // If defined, it holds the largest second moment so far (AMSGrad), of which the root is taken.
  Tensor max_exp_avg_sq = {};
};

// adam_ makes one step of all parameters of a list: m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
// p -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps). Added decay is g += weight_decay *
// p, decoupled p *= 1 - lr * weight_decay, both first. maximize negates g before, and without
// bias_correction both powers count as 0. Computed in float32 (float64 for float64) and rounded
// once a tensor.
void adam_(gsl::span<AdamTensors> list, const AdamOptions& options, WeightDecay decay);

// Adam is adam_ over parameters, with decay added to the gradient; AdamW decouples it.
class Adam : public Optimizer, public Momenta {
 public:
  // Group is parameters with options of their own.
  struct Group {
    std::vector<Tensor> parameters;
    AdamOptions options;
  };

  Adam(const std::vector<Tensor>& parameters, const AdamOptions& options = {},
       WeightDecay decay = WeightDecay::added)
      : Adam(std::vector<Group>{{parameters, options}}, decay) {}
  explicit Adam(std::vector<Group> groups, WeightDecay decay = WeightDecay::added);

  void step() override;
  std::vector<std::string> state_names(std::size_t parameter) const override;
  Tensor new_state(std::size_t parameter, const std::string& name) const override;
  std::vector<double> learning_rates() const override;
  void set_learning_rates(const std::vector<double>& rates) override;
  // The coefficients of the two moments, one pair per group.
  std::vector<std::array<double, 2>> betas() const;
  void set_betas(const std::vector<std::array<double, 2>>& betas);
  void set_momenta(const std::vector<double>& momenta) override;

 private:
  std::vector<Group> groups_;
  WeightDecay decay_;
};

// AdamW is Adam with decoupled weight decay, 0.01 by default.
class AdamW final : public Adam {
 public:
  AdamW(const std::vector<Tensor>& parameters, const AdamOptions& options = {.weight_decay = 0.01})
      : Adam(parameters, options, WeightDecay::decoupled) {}
  explicit AdamW(std::vector<Group> groups) : Adam(std::move(groups), WeightDecay::decoupled) {}
};

}  // namespace simmesh::optim
