#include <gtest/gtest.h>
#include <memory>

#include "core/autograd/variable.h"
#include "core/optim/adadelta.h"
#include "core/optim/adamax.h"
#include "core/optim/asgd.h"
#include "core/optim/momenta.h"
#include "core/optim/nadam.h"
#include "core/optim/radam.h"
#include "core/optim/rprop.h"
#include "core/optim/scalar_state.h"

namespace simmesh::optim {
namespace {

using Numbers = std::vector<double>;

// Makes steps in float64. The gradients change, and one of them begins at zero.
template <class Kind, class Options>
Numbers after_steps(const Options& options, int steps) {
  Tensor p = tensor_of<double>({3}, {2.0, -1.0, 0.5});
  set_requires_grad(p);
  Kind optimizer({p}, options);
  for (int t = 1; t <= steps; ++t) {
    set_grad(p, tensor_of<double>({3}, {0.5, -0.25 * t, 0.125 - 0.125 * t}));
    optimizer.step();
  }
  EXPECT_EQ(optimizer.steps(0), steps);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : optimizer.state(0)) names.push_back(name);
  EXPECT_EQ(optimizer.state_names(0), names);
  auto values = p.values<double>();
  return {values.begin(), values.end()};
}

// Six steps of at most two dozen roundings, each by at most 2^-53 of a value below 4.
constexpr double bound_of_six = 6 * 24 * 4 * 0x1p-53;

template <class Kind, class Options>
void expect_recorded(const Options& options, const Numbers& after_three, const Numbers& after_six) {
  Numbers three = after_steps<Kind>(options, 3), six = after_steps<Kind>(options, 6);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(three[i], after_three[i], bound_of_six) << i;
    EXPECT_NEAR(six[i], after_six[i], bound_of_six) << i;
  }
}

// The values in this file are those of PyTorch 2.15. If one fails, an option does something else
// there.
TEST(TorchOptimizers, AdadeltaIsPyTorchs) {
  expect_recorded<Adadelta>(
      AdadeltaOptions{.lr = 0.5, .rho = 0.75, .eps = 0.125, .weight_decay = 0.25},
      {1.1340900363702442, -0.21902662478359736, 0.5143076809242667},
      {0.3489292339227712, 0.979705745554293, 0.9807872798475339});
  expect_recorded<Adadelta>(AdadeltaOptions{.maximize = true},
                            {2.009707313493153, -1.0120713494639062, 0.4927990335493479},
                            {2.0198448236917144, -1.0314573341756375, 0.4757919415148052});
}

TEST(TorchOptimizers, AdamaxIsPyTorchs) {
  expect_recorded<Adamax>(
      AdamaxOptions{.lr = 0.1, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.125, .weight_decay = 0.25},
      {1.7321640044140825, -0.7672365880149249, 0.4572556695241399},
      {1.4630188014415453, -0.5289246924594974, 0.6191850792188675});
  expect_recorded<Adamax>(AdamaxOptions{.maximize = true},
                          {2.0059999998800007, -1.0049063894612844, 0.4978772578469606},
                          {2.0119999997600013, -1.0087743250311725, 0.49456278836857165});
}

TEST(TorchOptimizers, NAdamIsPyTorchs) {
  expect_recorded<NAdam>(NAdamOptions{.lr = 0.1,
                                      .beta1 = 0.5,
                                      .beta2 = 0.75,
                                      .eps = 0.125,
                                      .weight_decay = 0.25,
                                      .momentum_decay = 0.5},
                         {1.7253856879022273, -0.7170244641794342, 0.49601782715648884},
                         {1.4691050111693877, -0.39355274908328813, 0.7552166957771884});
  expect_recorded<NAdam>(
      NAdamOptions{.weight_decay = 0.25, .decoupled_weight_decay = true, .maximize = true},
      {2.002143310147496, -1.004460070477308, 0.4950769245777206},
      {2.003625624283448, -1.0090956979861407, 0.4878409743998709});
}

// With these betas the variance counts from the sixth step on.
TEST(TorchOptimizers, RAdamIsPyTorchs) {
  RAdamOptions options{.lr = 0.1, .beta1 = 0.5, .beta2 = 0.999, .eps = 0.125, .weight_decay = 0.25};
  expect_recorded<RAdam>(options, {1.7052142857142856, -0.8004642857142857, 0.48922321428571425},
                         {1.517614973072351, -0.5726640372215359, 0.5329626846859015});
  options.eps = 1e-8;
  options.decoupled_weight_decay = options.maximize = true;
  expect_recorded<RAdam>(options, {2.0, -1.0519642857142857, 0.43744754464285707},
                         {1.952582110612654, -1.157464783602548, 0.3364999387568653});
}

TEST(TorchOptimizers, RpropIsPyTorchs) {
  expect_recorded<Rprop>(RpropOptions{.lr = 0.1}, {1.636, -0.636, 0.72},
                         {1.007008, -0.007008000000000125, 1.24416});
  expect_recorded<Rprop>(RpropOptions{.lr = 0.1,
                                      .eta_minus = 0.25,
                                      .eta_plus = 1.5,
                                      .step_min = 0.05,
                                      .step_max = 0.125,
                                      .maximize = true},
                         {2.35, -1.35, 0.275}, {2.725, -1.725, -0.09999999999999998});
}

// If this fails, a step follows a gradient whose sign has just changed.
TEST(TorchOptimizers, RpropWaitsWhereTheSignChanges) {
  Tensor p = tensor_of<double>({1}, {2.0});
  set_requires_grad(p);
  Rprop rprop({p}, {.lr = 0.1});
  for (double gradient : {0.5, -0.5, 0.5, 0.5, -1.0, -1.0}) {
    set_grad(p, tensor_of<double>({1}, {gradient}));
    rprop.step();
  }
  EXPECT_NEAR(p.values<double>()[0], 1.8199999999999998, bound_of_six);
}

TEST(TorchOptimizers, AsgdIsPyTorchs) {
  expect_recorded<Asgd>(
      AsgdOptions{.lr = 0.1, .lambd = 0.25, .alpha = 0.5, .t0 = 1, .weight_decay = 0.25},
      {1.5770507413473966, -0.7162420344549665, 0.46565012500059866},
      {1.2257302031612718, -0.27609267116490127, 0.5393412490680793});
  expect_recorded<Asgd>(AsgdOptions{.maximize = true},
                        {2.0149939734994855, -1.0149969747688847, 0.4962485059930801},
                        {2.029987868503096, -1.0524937809681658, 0.48124707665484606});
}

// If this fails, a training that continues has lost a number that isn't like the parameter.
TEST(TorchOptimizers, NumbersBeginAsPyTorchsDo) {
  Tensor p = tensor_of<double>({3}, {2.0, -1.0, 0.5});
  Asgd asgd({p}, {.lr = 0.5});
  EXPECT_EQ(scalar_state(asgd.new_state(0, "eta")), 0.5F);
  EXPECT_EQ(scalar_state(asgd.new_state(0, "mu")), 1.0F);
  EXPECT_EQ(asgd.new_state(0, "ax").shape(), p.shape());
  EXPECT_EQ(NAdam({p}).new_state(0, "mu_product").dim(), 0);
  EXPECT_EQ(Rprop({p}, {.lr = 0.5}).new_state(0, "step_size").values<double>()[2], 0.5);
}

// If this fails, a schedule changes the momentum of another group, or of an optimiser without one.
TEST(TorchOptimizers, MomentaOfGroupsChange) {
  Tensor p = tensor_of<double>({1}, {2.0});
  set_requires_grad(p);
  set_grad(p, tensor_of<double>({1}, {1.0}));
  Adamax adamax({p}, {.lr = 0.5, .beta1 = 0.5, .beta2 = 0.5, .eps = 0.0});
  dynamic_cast<Momenta&>(static_cast<Optimizer&>(adamax)).set_momenta({0.75});
  adamax.step();
  EXPECT_EQ(adamax.state(0).at("exp_avg").values<double>()[0], 0.25);
  Rprop rprop({p});
  EXPECT_EQ(dynamic_cast<Momenta*>(static_cast<Optimizer*>(&rprop)), nullptr);
}

}  // namespace
}  // namespace simmesh::optim
