#include "zero/engine/configured_optimizer.h"

#include <algorithm>
#include <cctype>

#include "core/optim/adadelta.h"
#include "core/optim/adafactor.h"
#include "core/optim/adagrad.h"
#include "core/optim/adam.h"
#include "core/optim/adamax.h"
#include "core/optim/asgd.h"
#include "core/optim/lamb.h"
#include "core/optim/lion.h"
#include "core/optim/muon.h"
#include "core/optim/nadam.h"
#include "core/optim/radam.h"
#include "core/optim/rmsprop.h"
#include "core/optim/rprop.h"
#include "core/optim/sgd.h"

namespace simmesh::zero {

namespace {

using Tensors = std::vector<Tensor>;
using OptimizerPtr = std::unique_ptr<optim::Optimizer>;
using MakeType = OptimizerPtr (*)(const Tensors&, const OptimizerConfig&);

optim::WeightDecay decay_of(bool is_decoupled) {
  return is_decoupled ? optim::WeightDecay::decoupled : optim::WeightDecay::added;
}

OptimizerPtr make_adam(const Tensors& tensors, const OptimizerConfig& config) {
  optim::AdamOptions options{.lr = config.lr,
                             .beta1 = config.betas[0],
                             .beta2 = config.betas[1],
                             .eps = config.eps,
                             .weight_decay = config.weight_decay,
                             .bias_correction = config.bias_correction,
                             .amsgrad = config.amsgrad,
                             .maximize = config.maximize,
                             .float32_state = config.fp32_optimizer_states};
  return std::make_unique<optim::Adam>(tensors, options,
                                       decay_of(config.type == "AdamW" || config.adam_w_mode));
}

OptimizerPtr make_adagrad(const Tensors& tensors, const OptimizerConfig& config) {
  return std::make_unique<optim::Adagrad>(
      tensors, optim::AdagradOptions{.lr = config.lr,
                                     .lr_decay = config.lr_decay,
                                     .weight_decay = config.weight_decay,
                                     .initial_accumulator_value = config.initial_accumulator_value,
                                     .eps = config.eps,
                                     .maximize = config.maximize});
}

OptimizerPtr make_lion(const Tensors& tensors, const OptimizerConfig& config) {
  return std::make_unique<optim::Lion>(tensors,
                                       optim::LionOptions{.lr = config.lr,
                                                          .beta1 = config.betas[0],
                                                          .beta2 = config.betas[1],
                                                          .weight_decay = config.weight_decay});
}

OptimizerPtr make_rmsprop(const Tensors& tensors, const OptimizerConfig& config) {
  return std::make_unique<optim::RmsProp>(tensors,
                                          optim::RmsPropOptions{.lr = config.lr,
                                                                .alpha = config.alpha,
                                                                .eps = config.eps,
                                                                .weight_decay = config.weight_decay,
                                                                .momentum = config.momentum,
                                                                .centered = config.centered,
                                                                .maximize = config.maximize});
}

OptimizerPtr make_sgd(const Tensors& tensors, const OptimizerConfig& config) {
  return std::make_unique<optim::Sgd>(tensors,
                                      optim::SgdOptions{.lr = config.lr,
                                                        .momentum = config.momentum,
                                                        .dampening = config.dampening,
                                                        .weight_decay = config.weight_decay,
                                                        .nesterov = config.nesterov,
                                                        .maximize = config.maximize});
}

OptimizerPtr make_adadelta(const Tensors& tensors, const OptimizerConfig& config) {
  return std::make_unique<optim::Adadelta>(
      tensors, optim::AdadeltaOptions{.lr = config.lr,
                                      .rho = config.rho,
                                      .eps = config.eps,
                                      .weight_decay = config.weight_decay,
                                      .maximize = config.maximize});
}

OptimizerPtr make_adamax(const Tensors& tensors, const OptimizerConfig& config) {
  return std::make_unique<optim::Adamax>(tensors,
                                         optim::AdamaxOptions{.lr = config.lr,
                                                              .beta1 = config.betas[0],
                                                              .beta2 = config.betas[1],
                                                              .eps = config.eps,
                                                              .weight_decay = config.weight_decay,
                                                              .maximize = config.maximize});
}

OptimizerPtr make_nadam(const Tensors& tensors, const OptimizerConfig& config) {
  return std::make_unique<optim::NAdam>(
      tensors, optim::NAdamOptions{.lr = config.lr,
                                   .beta1 = config.betas[0],
                                   .beta2 = config.betas[1],
                                   .eps = config.eps,
                                   .weight_decay = config.weight_decay,
                                   .momentum_decay = config.momentum_decay,
                                   .decoupled_weight_decay = config.decoupled_weight_decay,
                                   .maximize = config.maximize});
}

OptimizerPtr make_radam(const Tensors& tensors, const OptimizerConfig& config) {
  return std::make_unique<optim::RAdam>(
      tensors, optim::RAdamOptions{.lr = config.lr,
                                   .beta1 = config.betas[0],
                                   .beta2 = config.betas[1],
                                   .eps = config.eps,
                                   .weight_decay = config.weight_decay,
                                   .decoupled_weight_decay = config.decoupled_weight_decay,
                                   .maximize = config.maximize});
}

OptimizerPtr make_rprop(const Tensors& tensors, const OptimizerConfig& config) {
  return std::make_unique<optim::Rprop>(tensors,
                                        optim::RpropOptions{.lr = config.lr,
                                                            .eta_minus = config.etas[0],
                                                            .eta_plus = config.etas[1],
                                                            .step_min = config.step_sizes[0],
                                                            .step_max = config.step_sizes[1],
                                                            .maximize = config.maximize});
}

OptimizerPtr make_asgd(const Tensors& tensors, const OptimizerConfig& config) {
  return std::make_unique<optim::Asgd>(tensors,
                                       optim::AsgdOptions{.lr = config.lr,
                                                          .lambd = config.lambd,
                                                          .alpha = config.alpha,
                                                          .t0 = config.t0,
                                                          .weight_decay = config.weight_decay,
                                                          .maximize = config.maximize});
}

OptimizerPtr make_lamb(const Tensors& tensors, const OptimizerConfig& config) {
  return std::make_unique<optim::Lamb>(tensors,
                                       optim::LambOptions{.lr = config.lr,
                                                          .bias_correction = config.bias_correction,
                                                          .beta1 = config.betas[0],
                                                          .beta2 = config.betas[1],
                                                          .eps = config.eps,
                                                          .eps_inside_sqrt = config.eps_inside_sqrt,
                                                          .weight_decay = config.weight_decay,
                                                          .max_coeff = config.max_coeff,
                                                          .min_coeff = config.min_coeff});
}

struct NamedMake {
  const char* type;
  MakeType make;
};
constexpr NamedMake makes[] = {
    {"Adam", make_adam},         {"AdamW", make_adam},      {"Adagrad", make_adagrad},
    {"Lion", make_lion},         {"RMSprop", make_rmsprop}, {"SGD", make_sgd},
    {"Adadelta", make_adadelta}, {"Adamax", make_adamax},   {"NAdam", make_nadam},
    {"RAdam", make_radam},       {"Rprop", make_rprop},     {"ASGD", make_asgd},
    {"Lamb", make_lamb}};

const Shape& shape_of(const ShapesByName& shapes, const nn::NamedTensor& master) {
  auto found = shapes.find(master.first);
  return found == shapes.end() ? master.second.shape() : found->second;
}

OptimizerPtr make_adafactor(const std::vector<nn::NamedTensor>& masters,
                            const OptimizerConfig& config, const ShapesByName& shapes) {
  Tensors tensors;
  std::vector<Shape> whole;
  for (const nn::NamedTensor& master : masters) {
    tensors.push_back(master.second);
    whole.push_back(shape_of(shapes, master));
  }
  auto adafactor = std::make_unique<optim::Adafactor>(
      tensors, optim::AdafactorOptions{.lr = config.lr,
                                       .beta2_decay = config.beta2_decay,
                                       .eps1 = config.eps1,
                                       .eps2 = config.eps2,
                                       .d = config.d,
                                       .weight_decay = config.weight_decay,
                                       .maximize = config.maximize});
  adafactor->set_whole_shapes(std::move(whole));
  return adafactor;
}

bool is_for_muon(std::string name, const Shape& shape) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  return shape.size() >= 2 && name.find("embed") == name.npos && name.find("lm_head") == name.npos;
}

// The first group is sorted by shape, the largest first, as DeepSpeed's is.
OptimizerPtr make_muon(const std::vector<nn::NamedTensor>& masters, const OptimizerConfig& config,
                       const ShapesByName& shapes) {
  std::vector<nn::NamedTensor> by_muon;
  Tensors by_adam, sorted;
  for (const nn::NamedTensor& master : masters)
    if (is_for_muon(master.first, shape_of(shapes, master)))
      by_muon.push_back(master);
    else
      by_adam.push_back(master.second);
  std::stable_sort(by_muon.begin(), by_muon.end(), [&](const auto& a, const auto& b) {
    const Shape &of_a = shape_of(shapes, a), &of_b = shape_of(shapes, b);
    return std::lexicographical_compare(of_b.begin(), of_b.end(), of_a.begin(), of_a.end());
  });
  for (const auto& [name, master] : by_muon) sorted.push_back(master);
  optim::MuonOptions muon{.lr = config.muon_lr,
                          .beta = config.momentum,
                          .weight_decay = config.weight_decay,
                          .ns_method = config.ns_method == "gram" ? optim::NewtonSchulz::gram
                                                                  : optim::NewtonSchulz::standard};
  optim::MuonOptions adam{
      .lr = config.adam_lr,
      .weight_decay = config.weight_decay,
      .adam =
          optim::AdamOptions{.beta1 = config.betas[0], .beta2 = config.betas[1], .eps = config.eps},
      .adam_decay = decay_of(config.adam_w_mode)};
  // A rank without a piece of a group has the group too.
  std::size_t matrices = by_muon.size(), others = by_adam.size();
  for (const auto& [name, shape] : shapes) ++(is_for_muon(name, shape) ? matrices : others);
  std::vector<optim::Muon::Group> groups;
  if (matrices > 0) groups.push_back({sorted, muon});
  if (others > 0) groups.push_back({by_adam, adam});
  return std::make_unique<optim::Muon>(std::move(groups));
}

OptimizerPtr make_by_type(const std::vector<nn::NamedTensor>& masters,
                          const OptimizerConfig& config, const ShapesByName& shapes) {
  if (config.type == "Adafactor") return make_adafactor(masters, config, shapes);
  if (config.type == "Muon") return make_muon(masters, config, shapes);
  Tensors tensors;
  for (const auto& [name, master] : masters) tensors.push_back(master);
  for (const NamedMake& one : makes)
    if (config.type == one.type) return one.make(tensors, config);
  raise(ErrorKind::value_error, "zero/engine", "expected the type of an optimizer, got {}",
        config.type);
}

}  // namespace

MakeOptimizer configured_optimizer(const OptimizerConfig& config, const ShapesByName& shapes) {
  return [config, shapes](const std::vector<nn::NamedTensor>& masters) {
    return make_by_type(masters, config, shapes);
  };
}

}  // namespace simmesh::zero
