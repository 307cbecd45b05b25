#include <gtest/gtest.h>
#include <memory>

#include "core/autograd/variable.h"
#include "core/optim/adagrad.h"
#include "core/optim/adam.h"
#include "core/optim/grouped_optimizer.h"
#include "core/optim/lion.h"
#include "core/optim/rmsprop.h"
#include "core/optim/sgd.h"

namespace simmesh::optim {
namespace {

using Values = std::vector<double>;
using Make = std::function<std::unique_ptr<Optimizer>(const std::vector<Tensor>&)>;

// Makes three steps in float64. The gradients change, and one of them begins at zero.
Values after_three_steps(const Make& make) {
  Tensor p = tensor_of<double>({3}, {2.0, -1.0, 0.5});
  set_requires_grad(p);
  std::unique_ptr<Optimizer> optimizer = make({p});
  for (int t = 1; t <= 3; ++t) {
    set_grad(p, tensor_of<double>({3}, {0.5, -0.25 * t, 0.125 - 0.125 * t}));
    optimizer->step();
  }
  EXPECT_EQ(optimizer->steps(0), 3);
  for (const std::string& name : optimizer->state_names(0))
    EXPECT_TRUE(optimizer->state(0).contains(name)) << name;
  EXPECT_EQ(optimizer->state_names(0).size(), optimizer->state(0).size());
  auto values = p.values<double>();
  return {values.begin(), values.end()};
}

// Three steps of at most a dozen roundings, each by at most 2^-53 of a value below 3.
constexpr double bound = 3 * 12 * 3 * 0x1p-53;

void expect_values(const Make& make, const Values& recorded) {
  Values got = after_three_steps(make);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[i], recorded[i], bound) << i;
}

template <class Kind, class Options>
Make made(Options options) {
  return [options](const std::vector<Tensor>& parameters) {
    return std::make_unique<Kind>(parameters, options);
  };
}

// The values are PyTorch 2.15's. If this fails, an option does something else there.
TEST(OptimizerValues, ArePyTorchs) {
  const AdamOptions adam{
      .lr = 0.1, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.125, .weight_decay = 0.25};
  AdamOptions amsgrad = adam, maximizing = adam;
  amsgrad.amsgrad = true;
  maximizing.maximize = true;
  expect_values(made<Adam>(amsgrad), {1.734418409340542, -0.7447371640291373, 0.4628849042740849});
  expect_values(made<AdamW>(maximizing),
                {2.0877687499999995, -1.1516957115026578, 0.36770054345473513});
  expect_values(made<Adagrad>(AdagradOptions{.lr = 0.1,
                                             .lr_decay = 0.25,
                                             .weight_decay = 0.25,
                                             .initial_accumulator_value = 0.5,
                                             .eps = 0.125}),
                {1.8467522736465616, -0.8627550430904296, 0.4955595006295478});
  expect_values(made<Adagrad>(AdagradOptions{.lr = 0.1, .maximize = true}),
                {2.2284457050009507, -1.2696210916091475, 0.3105572810120084});
  expect_values(
      made<RmsProp>(RmsPropOptions{.lr = 0.1, .alpha = 0.75, .eps = 0.125, .weight_decay = 0.25}),
      {1.6065878939970542, -0.6044582070244573, 0.5091881792700539});
  expect_values(made<RmsProp>(RmsPropOptions{.lr = 0.1,
                                             .alpha = 0.75,
                                             .eps = 0.125,
                                             .momentum = 0.5,
                                             .centered = true,
                                             .maximize = true}),
                {2.5917031685271015, -1.5828976089535052, 0.2869527866425859});
  expect_values(
      made<Sgd>(SgdOptions{
          .lr = 0.1, .momentum = 0.5, .dampening = 0.25, .weight_decay = 0.25, .maximize = true}),
      {2.0, -1.0652734375000001, 0.42292529296875});
  expect_values(made<Sgd>(SgdOptions{.lr = 0.1, .momentum = 0.5, .nesterov = true}),
                {1.7437500000000001, -0.7531249999999999, 0.5593750000000001});
}

// The values follow from the formula of DeepSpeed's kernels, but that the third element, whose
// first update is 0, isn't moved by it.
TEST(OptimizerValues, OfLionAreDeepSpeeds) {
  expect_values(
      made<Lion>(LionOptions{.lr = 0.125, .beta1 = 0.5, .beta2 = 0.75, .weight_decay = 0.25}),
      {1.45489501953125, -0.545745849609375, 0.7006683349609375});
}

// Without the correction the first step divides by the root of the whole second moment:
// m = 0.25, v = 0.0625 and p = 2 - 0.5 * 0.25 / (0.25 + 0.25).
TEST(OptimizerValues, AdamWithoutBiasCorrectionUsesTheMomentsAsTheyAre) {
  Tensor p = tensor_of<double>({1}, {2.0});
  set_requires_grad(p);
  set_grad(p, tensor_of<double>({1}, {0.5}));
  Adam({p},
       AdamOptions{.lr = 0.5, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.25, .bias_correction = false})
      .step();
  EXPECT_EQ(p.values<double>()[0], 1.75);
}

// If this fails, a schedule changes the rate of another group.
TEST(OptimizerValues, RatesOfGroupsChange) {
  Tensor p = tensor_of<double>({1}, {2.0}), q = tensor_of<double>({1}, {2.0});
  for (Tensor* x : {&p, &q}) {
    set_requires_grad(*x);
    set_grad(*x, tensor_of<double>({1}, {1.0}));
  }
  Lion lion(std::vector<Lion::Group>{{{p}, {.lr = 0.5}}, {{q}, {.lr = 0.25}}});
  GroupedOptimizer<LionOptions>& grouped = lion;
  EXPECT_EQ(grouped.learning_rates(), (Values{0.5, 0.25}));
  grouped.set_learning_rates({0.125, 0.0});
  grouped.step();
  EXPECT_EQ(p.values<double>()[0], 1.875);
  EXPECT_EQ(q.values<double>()[0], 2.0);
}

}  // namespace
}  // namespace simmesh::optim
