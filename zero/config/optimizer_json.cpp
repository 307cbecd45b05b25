#include "zero/config/optimizer_json.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/check/error.h"
#include "core/check/join_text.h"
#include "zero/config/config_keys.h"
#include "zero/config/config_untyped.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view optimizer_source = "zero/config";

// OptimizerType is a class of optimisers: its name in a file, and its params. Those that change
// nothing here are idle: they choose a kernel.
struct OptimizerType {
  std::string name;
  bool is_deepspeeds = true;
  std::vector<std::string> params;
  std::vector<std::string> idle;
  OptimizerConfig defaults = {};
};

OptimizerType torch_adam_type(const std::string& name) {
  return {.name = name,
          .params = {"lr", "betas", "eps", "weight_decay", "amsgrad", "maximize", "adam_w_mode",
                     "torch_adam"},
          .idle = {"foreach", "capturable", "differentiable", "fused", "fp32_optimizer_states"},
          .defaults = {.type = name, .torch_adam = true}};
}

OptimizerType adam_type(const std::string& name) {
  return {.name = name,
          .params = {"lr", "betas", "eps", "weight_decay", "bias_correction", "adam_w_mode",
                     "torch_adam"},
          .idle = {"set_grad_none", "fp32_optimizer_states"},
          .defaults = {.type = name}};
}

std::vector<OptimizerType> all_optimizer_types() {
  return {
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
      {.name = "SGD",
       .is_deepspeeds = false,
       .params = {"lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize"},
       .idle = {"foreach", "differentiable", "fused"},
       .defaults = {.type = "SGD"}},
      {.name = "RMSprop",
       .is_deepspeeds = false,
       .params = {"lr", "alpha", "eps", "weight_decay", "momentum", "centered", "maximize"},
       .idle = {"foreach", "capturable", "differentiable"},
       .defaults = {.type = "RMSprop", .lr = 1e-2}}};
}

// MissingType is an optimiser of DeepSpeed or torch.optim that simmesh has none of.
struct MissingType {
  const char* name;
  bool is_deepspeeds = false;
};
constexpr std::array missing_types = {
    MissingType{"Lamb", true},    MissingType{"Muon", true},  MissingType{"MuAdam", true},
    MissingType{"MuAdamW", true}, MissingType{"MuSGD", true}, MissingType{"Adadelta"},
    MissingType{"Adafactor"},     MissingType{"Adamax"},      MissingType{"ASGD"},
    MissingType{"LBFGS"},         MissingType{"NAdam"},       MissingType{"RAdam"},
    MissingType{"Rprop"},         MissingType{"SparseAdam"}};

std::string lowercase_name(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

const OptimizerType& type_of(const std::string& name) {
  static const std::vector<OptimizerType> types = all_optimizer_types();
  for (const OptimizerType& type : types)
    if (type.is_deepspeeds ? lowercase_name(type.name) == lowercase_name(name) : type.name == name)
      return type;
  std::vector<std::string> names;
  for (const OptimizerType& type : types) names.push_back(type.name);
  for (const MissingType& missing : missing_types)
    if (missing.is_deepspeeds ? lowercase_name(name) == lowercase_name(missing.name)
                              : name == missing.name)
      raise(ErrorKind::value_error, optimizer_source, "optimizer.type: simmesh has no {}, only {}",
            name, join_text(names, ", "));
  raise(ErrorKind::assertion_error, optimizer_source,
        "optimizer.type: expected {}, or another optimizer of DeepSpeed or torch.optim, got {}",
        join_text(names, ", "), name);
}

bool holds_param(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// PyTorch's Adam and AdamW have other params than DeepSpeed's.
OptimizerType chosen_type(const std::string& name, const JsonValue& params) {
  OptimizerType type = type_of(name);
  if (type.name != "Adam" && type.name != "AdamW") return type;
  const JsonValue* is_torch = params.find("torch_adam");
  if (is_torch == nullptr || !is_truthy(*is_torch)) return type;
  type = torch_adam_type(type.name);
  const JsonValue* decouples = params.find("adam_w_mode");
  if (type.name == "AdamW" || decouples == nullptr || is_truthy(*decouples))
    type.defaults.weight_decay = 0.01;
  return type;
}

// Raises as the class of the optimiser does.
void check_params(const OptimizerType& type, const JsonValue& params, bool offloads) {
  for (const auto& [name, value] : *params.get<JsonValue::Object>()) {
    if (name == "max_grad_norm")
      raise(ErrorKind::value_error, optimizer_source,
            "optimizer.params.max_grad_norm: expected no such key, use gradient_clipping");
    bool is_adam = type.name == "Adam" || type.name == "AdamW";
    if (name == "amsgrad" && is_adam && !type.defaults.torch_adam) {
      if (is_truthy(value) && !offloads)
        raise(ErrorKind::runtime_error, optimizer_source,
              "optimizer.params.amsgrad: expected false, or torch_adam to be true: FusedAdam does "
              "not support the AMSGrad variant");
      if (is_truthy(value))
        raise(ErrorKind::value_error, optimizer_source,
              "optimizer.params.amsgrad: expected false, or torch_adam to be true: "
              "DeepSpeedCPUAdam ignores it");
      continue;
    }
    if (!holds_param(type.params, name) && !holds_param(type.idle, name))
      raise(ErrorKind::type_error, optimizer_source,
            "optimizer.params.{}: expected a param of {}, got an unexpected one", name, type.name);
  }
}

}  // namespace

std::optional<OptimizerConfig> read_optimizer(const JsonValue& section, bool offloads) {
  if (section.get<JsonValue::Object>() == nullptr)
    raise(ErrorKind::attribute_error, optimizer_source, "optimizer: expected an object, got {}",
          section.text(80));
  const JsonValue* name = section.find("type");
  if (name == nullptr || name->is_null()) return {};
  const auto* text = name->get<std::string>();
  if (text == nullptr)
    raise(ErrorKind::attribute_error, optimizer_source, "optimizer.type: expected a name, got {}",
          name->text(80));
  const JsonValue* given = section.find("params");
  JsonValue params = given == nullptr || given->is_null() ? JsonValue::object() : *given;
  expect_object({params, "optimizer.params"});
  OptimizerType type = chosen_type(*text, params);
  check_params(type, params, offloads);
  for (const std::string& idle : type.idle) params.erase(idle);
  OptimizerConfig optimizer = type.defaults;
  if (!holds_param(type.params, "amsgrad")) params.erase("amsgrad");
  read_section({params, "optimizer.params"}, optimizer);
  return optimizer;
}

JsonValue written_optimizer(const OptimizerConfig& optimizer) {
  OptimizerType type =
      optimizer.torch_adam ? torch_adam_type(optimizer.type) : type_of(optimizer.type);
  JsonValue section = JsonValue::object(), params = JsonValue::object();
  for (const ConfigKey<OptimizerConfig>& key : config_keys<OptimizerConfig>())
    if (holds_param(type.params, key.name)) params.set(key.name, key.write(optimizer));
  section.set("type", JsonValue(optimizer.type));
  section.set("params", std::move(params));
  return section;
}

}  // namespace simmesh::zero
