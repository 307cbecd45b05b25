#include "training/zero_form.h"

#include <fmt/format.h>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "checkpoint/catalog/training_state.h"
#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/nn/moe.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/factories.h"
#include "core/tensor/convert.h"
#include "sharding/parallel/expert_parallel.h"
#include "training/expert_calls.h"
#include "training/local_pieces.h"
#include "training/pipeline_ranks.h"
#include "training/spread_parameters.h"
#include "training/training_engine.h"
#include "zero/engine/engine.h"
#include "zero/engine/norm.h"

namespace simmesh {

namespace {

// In a pipeline the gradients of a step come by one backward pass of the engine.
zero::Config engine_config(const ZeroForm& zero, const TrainingTask& task,
                           const ParallelForm& form) {
  zero::Config config = zero.config;
  config.gradient_accumulation_steps = form.pipeline ? 1 : task.micro_batches;
  config.gradient_clipping = task.clip ? task.clip->max_norm : 0.0;
  config.zero_allow_untested_optimizer = true;
  config.sum_gradients = current_arithmetic().is_exact() || zero.experts;
  return config;
}

// Returns the configuration of the experts' engine.
zero::Config experts_config(zero::Config config) {
  zero::ZeroOptimization& zero = config.zero_optimization;
  if (zero.stage < 3) return config;
  zero.stage = 2;
  zero.offload_param.reset();
  return config;
}

// Returns that of the engine of all else. In stage 3 a module of experts gathers its router as one
// with what is below, so that the order of gathers doesn't depend on which experts have rows.
zero::Config others_config(zero::Config config, bool has_experts) {
  if (has_experts && config.zero_optimization.stage == 3)
    config.zero_optimization.leaf_module.classes.emplace_back("Moe");
  return config;
}

// ModelPieces is what this rank has of a model.
class ModelPieces {
 public:
  ModelPieces(nn::Module& model, const ZeroForm& zero, const PipelineRanks* pipeline)
      : zero_(zero), pipeline_(pipeline), local_(model) {
    for (const auto& [name, parameter] : model.named_parameters()) {
      names_.push_back(name);
      dtypes_.push_back(parameter.dtype());
      if (zero.experts && is_expert_parameter(model, name)) experts_.insert(name);
    }
  }

  const std::vector<std::string>& names() const { return names_; }
  DType dtype(std::size_t i) const { return dtypes_[i]; }
  const LocalPieces& local() const { return local_; }
  bool is_expert(const std::string& name) const { return experts_.count(name) > 0; }
  bool has_experts() const { return !experts_.empty(); }
  bool is_whole() const { return !zero_.tensor && !zero_.experts && !pipeline_; }

  // True if this rank counts a parameter in a norm: of ranks that split layers, the first one
  // counts what all of them have, and of stages with a tied parameter the one of the original.
  bool counts(const std::string& name) const {
    if (pipeline_ && !pipeline_->counts(name)) return false;
    if (!zero_.tensor || (is_expert(name) && has_experts_over_tensor())) return true;
    return local_.is_cut(name) ? local_.counts(name) : zero_.tensor->rank() == 0;
  }

  // Returns the squares of the whole model, given those of the experts and of all else over the
  // ranks that share them.
  Tensor squares(const Tensor& others, const Tensor& experts) const {
    KeepUnrounded scope;
    Tensor total = others;
    if (zero_.tensor) total = all_reduce(total, ReduceOp::sum, *zero_.tensor);
    if (zero_.experts) {
      Tensor of_experts = all_reduce(experts, ReduceOp::sum, *zero_.experts);
      if (zero_.tensor && !has_experts_over_tensor())
        of_experts = all_reduce(of_experts, ReduceOp::sum, *zero_.tensor);
      total = add(total, of_experts);
    }
    return pipeline_ ? pipeline_->sum(total) : total;
  }

 private:
  bool has_experts_over_tensor() const {
    return zero_.experts && zero_.tensor && zero_.experts->members() == zero_.tensor->members();
  }

  const ZeroForm& zero_;
  const PipelineRanks* pipeline_;
  LocalPieces local_;
  std::vector<std::string> names_;
  std::vector<DType> dtypes_;
  std::set<std::string> experts_;
};

// Ranks whose tokens differ must reduce the gradients of the same experts.
void call_every_expert(nn::Module& model) {
  for (const auto& [path, module] : model.named_modules())
    if (auto* moe = dynamic_cast<nn::Moe*>(module)) moe->call_every_expert();
}

class ZeroEngine final : public TrainingEngine {
 public:
  ZeroEngine(nn::Module& model, const ZeroForm& zero, const TrainingTask& task,
             const ParallelForm& form, const ProcessGroup& group)
      : zero_(zero),
        task_(task),
        form_(form),
        group_(group),
        pieces_(model, zero, form.pipeline.get()),
        calls_(model),
        engine_(zero::initialize(
            model, maker(task),
            others_config(engine_config(zero, task, form), zero.experts.has_value()), group,
            model_parallel(false))) {
    if (pieces_.has_experts())
      experts_.emplace(zero::initialize(model, maker(task),
                                        experts_config(engine_config(zero, task, form)),
                                        *zero.sharing, model_parallel(true)));
    call_every_expert(model);
    rates_ = engine_.get_lr();
    note("initialised");
  }

  void backward(const Tensor& loss) override {
    note("forward");
    // The loss is already a part of the loss of the whole step. The engines share one backward
    // pass.
    if (experts_) experts_->before_backward();
    engine_.backward(loss, false);
    if (experts_) experts_->after_backward();
    note("backward");
  }

  void backward_by(const std::function<void()>& passes) override {
    if (experts_) experts_->before_backward();
    engine_.before_backward();
    passes();
    engine_.after_backward();
    if (experts_) experts_->after_backward();
    note("backward");
  }

  void set_rate_factor(double factor) override {
    set_rates(engine_.optimizer(), rates_, factor);
    if (experts_) set_rates(experts_->optimizer(), rates_, factor);
  }

  void step(TrainingResult& result) override {
    if (calls_.has_experts()) unused_ = calls_.take_unused(zero_.experts ? *zero_.sharing : group_);
    std::vector<nn::NamedTensor> gradients;
    if (form_.reports) gradients = reported(form_, [&] { return whole_gradients(); });
    engine_.step();
    if (experts_) experts_->step();
    squares_ = Tensor();
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

  checkpoint::StateDict state() override {
    if (!pieces_.is_whole())
      raise(ErrorKind::not_implemented_error, "training/zero_form",
            "expected a model that is whole on every rank of a ZeRO engine, to save its state");
    return checkpoint::state_dict(engine_);
  }
  void state_loaded() override { engine_.masters_changed(); }

  void report(TrainingResult& result) override {
    Ledger::Uncharged host;
    std::vector<nn::NamedTensor> states;
    for (std::size_t i = 0; i < pieces_.names().size(); ++i) {
      const std::string& name = pieces_.names()[i];
      Tensor master = pieces_.local().whole(name, engine_of(name).safe_get_full_fp32_param(name));
      result.parameters.emplace_back(name, converted(master, pieces_.dtype(i)).clone());
    }
    std::vector<std::string> keys = {"exp_avg", "exp_avg_sq", "momentum_buffer"};
    const auto* adam = std::get_if<AdamSpec>(&task_.optimizer);
    if (adam && adam->options.amsgrad) keys.push_back("max_exp_avg_sq");
    for (const std::string& name : pieces_.names())
      for (const std::string& key : keys)
        if (Tensor state = engine_of(name).safe_get_full_optimizer_state(name, key);
            state.is_defined())
          result.optimizer_state.emplace_back(fmt::format("{}.{}", name, key),
                                              pieces_.local().whole(name, state).clone());
    result.parameters = completed(form_, std::move(result.parameters));
    result.optimizer_state = completed(form_, std::move(result.optimizer_state));
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

  // The engine of all else steps first, and leaves the squares of the whole model to the other one.
  zero::ModelParallel model_parallel(bool of_experts) {
    auto is_unused = [this](const std::string& name) { return unused_.count(name) > 0; };
    if (pieces_.is_whole() && !calls_.has_experts()) return {};
    if (pieces_.is_whole()) return {.is_unused = is_unused};
    return {
        .trains = [this, of_experts](
                      const std::string& name) { return pieces_.is_expert(name) == of_experts; },
        .counts = [this](const std::string& name) { return pieces_.counts(name); },
        .all_squares =
            [this, of_experts](const Tensor& own) {
              if (of_experts) return squares_;
              Tensor experts = experts_ ? experts_->squares() : zeros(DimSpan(), DType::float64);
              return squares_ = pieces_.squares(own, experts);
            },
        .is_unused = is_unused,
        .adds_gradients = zero_.experts.has_value()};
  }

  const zero::Engine& engine_of(const std::string& name) const {
    return pieces_.is_expert(name) ? *experts_ : engine_;
  }

  std::vector<nn::NamedTensor> whole_gradients() {
    Ledger::Uncharged host;
    std::vector<nn::NamedTensor> gradients;
    for (const std::string& name : pieces_.names())
      if (Tensor gradient = engine_of(name).safe_get_full_grad(name); gradient.is_defined())
        gradients.emplace_back(name, pieces_.local().whole(name, gradient).clone());
    return completed(form_, std::move(gradients));
  }

  void note(const char* what) {
    if (zero_.at_memory)
      zero_.at_memory(fmt::format("step {} {}", steps_, what), engine_.memory_use());
  }

  const ZeroForm& zero_;
  const TrainingTask& task_;
  const ParallelForm& form_;
  ProcessGroup group_;
  ModelPieces pieces_;
  ExpertCalls calls_;
  std::set<std::string> unused_;         // parameters of experts that no token of the step chose
  zero::Engine engine_;                  // of all but the experts that are spread
  std::optional<zero::Engine> experts_;  // of this rank's
  Tensor squares_;                       // of the gradients of the step, over the whole model
  std::vector<double> rates_;  // those that the optimiser began with, one for its one group
  std::int64_t steps_ = 0;
};

}  // namespace

ParallelForm zero_form(const ZeroForm& zero, const ProcessGroup& group, ParallelForm given) {
  ParallelForm form = std::move(given);
  form.part = group.rank();
  form.parts = group.size();
  bool sums = current_arithmetic().is_exact() || zero.experts;
  form.gradient_divisor = sums ? 1.0 : double(group.size());
  form.make_engine = [zero, group](nn::Module& model, const TrainingTask& task,
                                   const ParallelForm& own) {
    return std::make_unique<ZeroEngine>(model, zero, task, own, group);
  };
  form.all_sum = [group](const Tensor& value) { return all_reduce(value, ReduceOp::sum, group); };
  return form;
}

}  // namespace simmesh
