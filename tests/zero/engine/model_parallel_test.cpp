#include "zero/engine/model_parallel.h"

#include "core/autograd/variable.h"
#include "core/nn/containers.h"
#include "core/nn/linear.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/optim/sgd.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "zero/engine/engine.h"
#include "zero/engine/norm.h"

namespace simmesh::zero {
namespace {

std::shared_ptr<nn::Sequential> make_two() {
  std::vector<nn::NamedModule> layers = {
      {"a", std::make_shared<nn::Linear>(nn::Linear::Options{.in = 3, .out = 3})},
      {"b", std::make_shared<nn::Linear>(nn::Linear::Options{.in = 3, .out = 3})}};
  auto model = std::make_shared<nn::Sequential>(std::move(layers));
  std::uint64_t seed = 1;
  for (auto& [name, parameter] : model->named_parameters()) {
    Tensor data = parameter.detach();
    copy_(data, formula(data.shape(), {.rule = Rule::unit, .seed = seed++}));
  }
  return model;
}

std::unique_ptr<optim::Optimizer> make_plain_sgd(const std::vector<nn::NamedTensor>& masters) {
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : masters) tensors.push_back(tensor);
  return std::make_unique<optim::Sgd>(tensors, optim::SgdOptions{.lr = 0.1});
}

Config config_of(std::int64_t stage) {
  Config config;
  config.zero_optimization.stage = stage;
  config.gradient_clipping = 0.01;
  config.zero_allow_untested_optimizer = true;
  config.sum_gradients = true;
  return config;
}

bool is_of_a(const std::string& name) { return name.starts_with("a."); }

// Two engines, each of one layer, clip by one norm and make the step of one engine.
SIMMESH_TEST(ModelParallel, TwoEnginesMakeTheStepOfOne,
             {.mesh = {2}, .arithmetic = Arithmetic::exact()}) {
  ProcessGroup all = ProcessGroup::world();
  Tensor x = formula({2, 3}, {.rule = Rule::wide, .seed = 9 + std::uint64_t(all.rank())});
  for (std::int64_t stage : {0, 1, 2, 3}) {
    auto one = make_two(), two = make_two();
    Engine whole = initialize(*one, make_plain_sgd, config_of(stage), all);
    std::optional<Engine> second;
    Tensor squares;
    Engine first = initialize(*two, make_plain_sgd, config_of(stage), all,
                              {.trains = is_of_a, .all_squares = [&](const Tensor& own) {
                                 KeepUnrounded scope;
                                 return squares = add(own, second->squares());
                               }});
    second.emplace(initialize(*two, make_plain_sgd, config_of(std::min<std::int64_t>(stage, 2)),
                              all,
                              {.trains = [](const std::string& name) { return !is_of_a(name); },
                               .all_squares = [&](const Tensor&) { return squares; }}));
    whole.backward(sum(whole(x)));
    second->before_backward();
    first.backward(sum(first(x)));
    second->after_backward();
    whole.step();
    first.step();
    second->step();
    EXPECT_EQ(first.get_global_grad_norm(), whole.get_global_grad_norm()) << stage;
    for (const auto& [name, parameter] : one->named_parameters())
      EXPECT_SAME_BITS((is_of_a(name) ? first : *second).safe_get_full_fp32_param(name),
                       whole.safe_get_full_fp32_param(name));
  }
}

}  // namespace
}  // namespace simmesh::zero
