#include "zero/config/optimizer_types.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view types_source = "zero/config";

OptimizerType adam_type(const std::string& name) {
  return {.name = name,
          .params = {"lr", "betas", "eps", "weight_decay", "bias_correction", "adam_w_mode",
                     "torch_adam", "fp32_optimizer_states"},
          .idle = {"set_grad_none"},
          .defaults = {.type = name}};
}

// A class of torch.optim. All choose kernels by foreach, most by the other two as well.
OptimizerType torch_type(const OptimizerConfig& defaults, std::vector<std::string> params,
                         std::vector<std::string> idle = {"foreach", "capturable",
                                                          "differentiable"}) {
  params.push_back("maximize");
  return {.name = defaults.type,
          .is_deepspeeds = false,
          .params = std::move(params),
          .idle = std::move(idle),
          .defaults = defaults};
}

std::vector<OptimizerType> torch_types() {
  return {torch_type({.type = "SGD"}, {"lr", "momentum", "dampening", "weight_decay", "nesterov"},
                     {"foreach", "differentiable", "fused"}),
          torch_type({.type = "RMSprop", .lr = 1e-2},
                     {"lr", "alpha", "eps", "weight_decay", "momentum", "centered"}),
          torch_type({.type = "Adadelta", .lr = 1.0, .eps = 1e-6},
                     {"lr", "rho", "eps", "weight_decay"}),
          torch_type({.type = "Adamax", .lr = 2e-3}, {"lr", "betas", "eps", "weight_decay"}),
          torch_type({.type = "NAdam", .lr = 2e-3}, {"lr", "betas", "eps", "weight_decay",
                                                     "momentum_decay", "decoupled_weight_decay"}),
          torch_type({.type = "RAdam"},
                     {"lr", "betas", "eps", "weight_decay", "decoupled_weight_decay"}),
          torch_type({.type = "Rprop", .lr = 1e-2}, {"lr", "etas", "step_sizes"}),
          torch_type({.type = "ASGD", .lr = 1e-2, .alpha = 0.75},
                     {"lr", "lambd", "alpha", "t0", "weight_decay"}),
          torch_type({.type = "Adafactor", .lr = 1e-2},
                     {"lr", "beta2_decay", "eps", "d", "weight_decay"}, {"foreach"})};
}

std::vector<OptimizerType> all_optimizer_types() {
  std::vector<OptimizerType> types = {
      adam_type("Adam"),
      adam_type("AdamW"),
      {.name = "Adagrad",
       .params = {"lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps", "maximize"},
       .idle = {"foreach", "differentiable", "fused"},
       .defaults = {.type = "Adagrad", .lr = 1e-2, .eps = 1e-10}},
      {.name = "Lion",
       .params = {"lr", "betas", "weight_decay"},
       .idle = {"set_grad_none", "fp32_optimizer_states"},
       .defaults = {.type = "Lion"}},
      {.name = "Lamb",
       .params = {"lr", "bias_correction", "betas", "eps", "eps_inside_sqrt", "weight_decay",
                  "max_coeff", "min_coeff"},
       .idle = {"amsgrad"},
       .defaults = {.type = "Lamb"}},
      {.name = "Muon",
       .params = {"muon_lr", "adam_lr", "momentum", "ns_method", "betas", "eps", "weight_decay",
                  "adam_w_mode"},
       .ignores_others = true,
       .defaults = {.type = "Muon", .betas = {0.9, 0.95}, .eps = 1e-10, .momentum = 0.95}}};
  for (OptimizerType& type : torch_types()) types.push_back(std::move(type));
  return types;
}

std::string lowercase_name(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

// Raises for the classes of torch.optim whose step fails in DeepSpeed's engine.
void refuse_unusable_type(const std::string& name) {
  if (name == "LBFGS")
    raise(ErrorKind::type_error, types_source,
          "optimizer.type: LBFGS.step() is missing 1 required positional argument: 'closure', "
          "which DeepSpeed's engine doesn't give");
  if (name == "SparseAdam")
    raise(ErrorKind::runtime_error, types_source,
          "optimizer.type: SparseAdam does not support dense gradients, please consider Adam "
          "instead");
}

}  // namespace

OptimizerType torch_adam_type(const std::string& name) {
  return {.name = name,
          .params = {"lr", "betas", "eps", "weight_decay", "amsgrad", "maximize", "adam_w_mode",
                     "torch_adam"},
          .idle = {"foreach", "capturable", "differentiable", "fused", "fp32_optimizer_states"},
          .defaults = {.type = name, .torch_adam = true}};
}

const OptimizerType& optimizer_type(const std::string& name) {
  static const std::vector<OptimizerType> types = all_optimizer_types();
  constexpr std::array missing_names = {"MuAdam", "MuAdamW", "MuSGD"};
  for (const OptimizerType& type : types)
    if (type.is_deepspeeds ? lowercase_name(type.name) == lowercase_name(name) : type.name == name)
      return type;
  std::vector<std::string> names;
  for (const OptimizerType& type : types) names.push_back(type.name);
  for (const char* missing : missing_names)
    if (lowercase_name(name) == lowercase_name(missing))
      raise(ErrorKind::value_error, types_source, "optimizer.type: simmesh has no {}, only {}",
            name, join_text(names, ", "));
  refuse_unusable_type(name);
  raise(ErrorKind::assertion_error, types_source,
        "optimizer.type: expected {}, or another optimizer of DeepSpeed or torch.optim, got {}",
        join_text(names, ", "), name);
}

void check_optimizer_values(const OptimizerConfig& optimizer) {
  auto expect = [](bool holds, const char* name, const char* expected, double got) {
    if (!holds)
      raise(ErrorKind::value_error, types_source, "optimizer.params.{}: expected {}, got {}", name,
            expected, got);
  };
  bool is_torch = optimizer.torch_adam || !optimizer_type(optimizer.type).is_deepspeeds;
  for (double beta : optimizer.betas)
    expect(!is_torch || beta < 1, "betas", "numbers below 1", beta);
  expect(optimizer.rho <= 1, "rho", "a number of at most 1", optimizer.rho);
  expect(optimizer.etas[0] > 0 && optimizer.etas[0] < 1, "etas[0]",
         "a number greater than 0 and less than 1", optimizer.etas[0]);
  expect(optimizer.etas[1] > 1, "etas[1]", "a number greater than 1", optimizer.etas[1]);
  expect(optimizer.beta2_decay <= 0, "beta2_decay", "a number of at most 0", optimizer.beta2_decay);
  expect(optimizer.d >= 1, "d", "a number of at least 1", optimizer.d);
  bool has_momentum = optimizer.momentum > 0 && optimizer.dampening == 0;
  if (optimizer.nesterov && !has_momentum)
    raise(ErrorKind::value_error, types_source,
          "optimizer.params.nesterov: Nesterov momentum requires a momentum and zero dampening");
  if (optimizer.ns_method != "gram" && optimizer.ns_method != "standard")
    raise(ErrorKind::assertion_error, types_source,
          "optimizer.params.ns_method: expected standard or gram, got {}", optimizer.ns_method);
}

}  // namespace simmesh::zero
