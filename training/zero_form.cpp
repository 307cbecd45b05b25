#include "training/zero_form.h"

#include <fmt/format.h>
#include <string>
#include <variant>
#include <vector>

#include "checkpoint/catalog/training_state.h"
#include "collectives/collectives.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/factories.h"
#include "core/tensor/convert.h"
#include "training/training_engine.h"
#include "zero/engine/engine.h"
#include "zero/engine/norm.h"

namespace simmesh {

namespace {

zero::Config engine_config(const ZeroForm& zero, const TrainingTask& task) {
  zero::Config config = zero.config;
  config.gradient_accumulation_steps = task.micro_batches;
  config.gradient_clipping = task.clip ? task.clip->max_norm : 0.0;
  config.zero_allow_untested_optimizer = true;
  config.sum_gradients = current_arithmetic().is_exact();
  return config;
}

class ZeroEngine final : public TrainingEngine {
 public:
  ZeroEngine(nn::Module& model, const ZeroForm& zero, const TrainingTask& task,
             const ParallelForm& form, const ProcessGroup& group)
      : zero_(zero),
        task_(task),
        form_(form),
        names_(model.named_parameters()),
        engine_(zero::initialize(model, maker(task), engine_config(zero, task), group)) {
    note("initialised");
  }

  void backward(const Tensor& loss) override {
    note("forward");
    // The loss is already a part of the loss of the whole step.
    engine_.backward(loss, false);
    note("backward");
  }

  void step(TrainingResult& result) override {
    std::vector<nn::NamedTensor> gradients;
    if (form_.reports) gradients = reported(form_, [&] { return whole_gradients(); });
    engine_.step();
    note("step");
    ++steps_;
    if (!form_.reports) return;
    Ledger::Uncharged host;
    Tensor norm = full(DimSpan(), DType::float32, engine_.get_global_grad_norm().value_or(0.0));
    if (task_.clip) {
      Tensor factor = zero::clip_factor(norm, task_.clip->max_norm);
      for (auto& [name, gradient] : gradients) gradient = mul(gradient, factor);
    }
    result.norms.push_back(norm);
    result.gradients.push_back(std::move(gradients));
  }

  checkpoint::StateDict state() override { return checkpoint::state_dict(engine_); }
  void state_loaded() override { engine_.masters_changed(); }

  void report(TrainingResult& result) override {
    Ledger::Uncharged host;
    for (const auto& [name, parameter] : names_)
      result.parameters.emplace_back(
          name, converted(engine_.safe_get_full_fp32_param(name), parameter.dtype()).clone());
    std::vector<std::string> keys = {"exp_avg", "exp_avg_sq", "momentum_buffer"};
    const auto* adam = std::get_if<AdamSpec>(&task_.optimizer);
    if (adam && adam->options.amsgrad) keys.push_back("max_exp_avg_sq");
    for (const auto& [name, parameter] : names_)
      for (const std::string& key : keys)
        if (Tensor state = engine_.safe_get_full_optimizer_state(name, key); state.is_defined())
          result.optimizer_state.emplace_back(fmt::format("{}.{}", name, key), state.clone());
  }

 private:
  static zero::MakeOptimizer maker(const TrainingTask& task) {
    return [&task](const std::vector<nn::NamedTensor>& masters) {
      std::vector<Tensor> tensors;
      std::vector<Shape> shapes;
      for (const auto& [name, master] : masters) {
        tensors.push_back(master);
        for (const ParameterData& parameter : task.model.parameters)
          if (parameter.name == name) shapes.push_back(parameter.shape);
      }
      return make_optimizer(task.optimizer, tensors, shapes);
    };
  }

  std::vector<nn::NamedTensor> whole_gradients() {
    Ledger::Uncharged host;
    std::vector<nn::NamedTensor> gradients;
    for (const auto& [name, parameter] : names_)
      if (Tensor gradient = engine_.safe_get_full_grad(name); gradient.is_defined())
        gradients.emplace_back(name, gradient.clone());
    return gradients;
  }

  void note(const char* what) {
    if (zero_.at_memory)
      zero_.at_memory(fmt::format("step {} {}", steps_, what), engine_.memory_use());
  }

  const ZeroForm& zero_;
  const TrainingTask& task_;
  const ParallelForm& form_;
  std::vector<nn::NamedTensor> names_;
  zero::Engine engine_;
  std::int64_t steps_ = 0;
};

}  // namespace

ParallelForm zero_form(const ZeroForm& zero, const ProcessGroup& group, ParallelForm given) {
  ParallelForm form = std::move(given);
  form.part = group.rank();
  form.parts = group.size();
  form.gradient_divisor = current_arithmetic().is_exact() ? 1.0 : double(group.size());
  form.make_engine = [zero, group](nn::Module& model, const TrainingTask& task,
                                   const ParallelForm& own) {
    return std::make_unique<ZeroEngine>(model, zero, task, own, group);
  };
  form.all_sum = [group](const Tensor& value) { return all_reduce(value, ReduceOp::sum, group); };
  return form;
}

}  // namespace simmesh
