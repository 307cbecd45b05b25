#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/nn/containers.h"
#include "core/nn/linear.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/optim/adam.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "zero/engine/engine.h"
#include "zero/stage3/gathered_parameters.h"

namespace simmesh::zero {

inline const Arithmetic exact = Arithmetic::exact();

// ModelMaker makes the model of a run, the same on every rank.
using ModelMaker = std::function<nn::ModulePtr()>;

// ZeroRun is the result of a training run on one rank.
struct ZeroRun {
  std::vector<Tensor> losses, parameters, masters, moments;
  std::vector<std::optional<double>> norms;
};

// set_by_formula gives all parameters values that follow from their number.
inline void set_by_formula(nn::Module& model) {
  std::uint64_t seed = 100;
  for (const Tensor& parameter : model.parameters()) {
    Tensor values = parameter.detach();
    copy_(values,
          formula(values.shape(), {.rule = Rule::unit, .seed = seed++, .dtype = values.dtype()}));
  }
}

inline nn::ModulePtr new_linear(std::int64_t in, std::int64_t out, bool bias = true,
                                DType dtype = DType::float32) {
  return std::make_shared<nn::Linear>(nn::Linear::Options{in, out, bias, {.dtype = dtype}});
}

// three_linears is a chain of layers 3 -> 5 -> 5 -> 2; the one in the middle runs twice.
inline nn::ModulePtr three_linears() {
  std::vector<nn::NamedModule> children;
  children.emplace_back("first", new_linear(3, 5));
  children.emplace_back("twice", new_linear(5, 5));
  children.emplace_back("last", new_linear(5, 2, false));
  return std::make_shared<nn::Sequential>(
      children, std::vector<std::string>{"first", "twice", "twice", "last"});
}

inline std::unique_ptr<optim::Optimizer> make_adamw(const std::vector<nn::NamedTensor>& masters) {
  std::vector<Tensor> trained;
  for (const auto& [name, master] : masters)
    if (master.requires_grad()) trained.push_back(master);
  return std::make_unique<optim::AdamW>(trained,
                                        optim::AdamOptions{.lr = 0.125, .weight_decay = 0.25});
}

inline Tensor rank_input(std::int64_t rank, std::int64_t step, Shape shape) {
  return formula(shape, {.rule = Rule::unit, .seed = std::uint64_t(1000 + 100 * rank + step)});
}

// run_zero trains a model for a number of steps on the world; inputs are [2, 3].
inline ZeroRun run_zero(const ModelMaker& make, const Config& config, std::int64_t steps = 3) {
  ProcessGroup world = ProcessGroup::world();
  nn::ModulePtr model = make();
  set_by_formula(*model);
  Engine engine = initialize(*model, make_adamw, config, world);
  ZeroRun run;
  std::int64_t micro_batches = config.gradient_accumulation_steps.value_or(1);
  for (std::int64_t step = 0; step < steps * micro_batches; ++step) {
    Tensor output = engine(rank_input(world.rank(), step, {2, 3}));
    Tensor loss = sum(mul(output, output));
    run.losses.push_back(loss.detach().clone());
    engine.backward(loss);
    engine.step();
    if (engine.is_gradient_accumulation_boundary()) continue;
    run.norms.push_back(engine.get_global_grad_norm());
  }
  for (const auto& [name, parameter] : model->named_parameters()) {
    run.masters.push_back(engine.safe_get_full_fp32_param(name));
    for (const char* key : {"exp_avg", "exp_avg_sq"})
      if (Tensor moment = engine.safe_get_full_optimizer_state(name, key); moment.is_defined())
        run.moments.push_back(moment);
  }
  GatheredParameters whole(*model);
  for (const Tensor& parameter : model->parameters())
    run.parameters.push_back(parameter.detach().clone());
  return run;
}

// expect_same_run compares everything, bit for bit.
inline void expect_same_run(const ZeroRun& actual, const ZeroRun& expected) {
  for (auto member :
       {&ZeroRun::losses, &ZeroRun::parameters, &ZeroRun::masters, &ZeroRun::moments}) {
    const auto& got = actual.*member;
    const auto& wanted = expected.*member;
    if (got.size() != wanted.size()) {
      ADD_FAILURE() << got.size() << " tensors instead of " << wanted.size();
      return;
    }
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_SAME_BITS(got[i], wanted[i]);
  }
  EXPECT_EQ(actual.norms, expected.norms);
}

// small_stage3 is a configuration of stage 3 in which sizes as small as those of tests matter.
inline Config small_stage3() {
  return {.gradient_clipping = 0.5,
          .zero_allow_untested_optimizer = true,
          .zero_optimization = {.stage = 3,
                                .reduce_bucket_size = 40,
                                .sub_group_size = 20,
                                .prefetch_bucket_size = 30,
                                .param_persistence_threshold = 0,
                                .max_live_parameters = 60,
                                .max_reuse_distance = 20}};
}

inline Config stage0() { return {.gradient_clipping = 0.5, .zero_allow_untested_optimizer = true}; }

}  // namespace simmesh::zero
