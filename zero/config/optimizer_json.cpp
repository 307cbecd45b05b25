#include "zero/config/optimizer_json.h"

#include <algorithm>

#include "core/check/error.h"
#include "zero/config/config_keys.h"
#include "zero/config/config_untyped.h"
#include "zero/config/optimizer_types.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view optimizer_source = "zero/config";

bool holds_param(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// PyTorch's Adam and AdamW have other params than DeepSpeed's.
OptimizerType chosen_type(const std::string& name, const JsonValue& params) {
  OptimizerType type = optimizer_type(name);
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
    if (name == "amsgrad" && type.name == "Lamb" && is_truthy(value))
      raise(ErrorKind::runtime_error, optimizer_source,
            "optimizer.params.amsgrad: FusedLamb does not support the AMSGrad variant");
    if (name == "per_head_muon" && type.name == "Muon" && is_truthy(value))
      raise(ErrorKind::value_error, optimizer_source,
            "optimizer.params.per_head_muon: simmesh has no Muon by heads, got {}", value.text(80));
    if (!type.ignores_others && !holds_param(type.params, name) && !holds_param(type.idle, name))
      raise(ErrorKind::type_error, optimizer_source,
            "optimizer.params.{}: expected a param of {}, got an unexpected one", name, type.name);
  }
}

// Takes the eps of Adafactor, which is a pair.
void take_pair_of_eps(JsonValue& params, OptimizerConfig& optimizer) {
  const JsonValue* eps = params.find("eps");
  if (eps == nullptr) return;
  const auto* pair = eps->get<JsonValue::List>();
  const std::string path = "optimizer.params.eps";
  if (pair == nullptr || pair->size() != 2)
    raise(ErrorKind::type_error, optimizer_source, "{}: expected a list of two numbers, got {}",
          path, eps->text(80));
  read_value({(*pair)[0], path + "[0]"}, not_negative, optimizer.eps1);
  read_value({(*pair)[1], path + "[1]"}, not_negative, optimizer.eps2);
  params.erase("eps");
}

// A learning rate of both halves of Muon stands where one has none of its own.
void take_shared_rate(JsonValue& params) {
  const JsonValue* shared = params.find("lr");
  if (shared == nullptr) return;
  JsonValue rate = *shared;
  for (const char* half : {"muon_lr", "adam_lr"})
    if (params.find(half) == nullptr) params.set(half, rate);
}

// Drops what a type leaves alone.
void drop_ignored(const OptimizerType& type, JsonValue& params) {
  std::vector<std::string> ignored = type.idle;
  if (type.ignores_others)
    for (const auto& [name, value] : *params.get<JsonValue::Object>())
      if (!holds_param(type.params, name)) ignored.push_back(name);
  for (const std::string& name : ignored) params.erase(name);
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
  OptimizerConfig optimizer = type.defaults;
  if (type.name == "Adafactor") take_pair_of_eps(params, optimizer);
  if (type.name == "Muon") take_shared_rate(params);
  drop_ignored(type, params);
  if (!holds_param(type.params, "amsgrad")) params.erase("amsgrad");
  read_section({params, "optimizer.params"}, optimizer);
  check_optimizer_values(optimizer);
  return optimizer;
}

JsonValue written_optimizer(const OptimizerConfig& optimizer) {
  OptimizerType type =
      optimizer.torch_adam ? torch_adam_type(optimizer.type) : optimizer_type(optimizer.type);
  JsonValue section = JsonValue::object(), params = JsonValue::object();
  for (const ConfigKey<OptimizerConfig>& key : config_keys<OptimizerConfig>())
    if (holds_param(type.params, key.name)) params.set(key.name, key.write(optimizer));
  if (optimizer.type == "Adafactor")
    params.set("eps", {JsonValue::List{written(optimizer.eps1), written(optimizer.eps2)}});
  section.set("type", JsonValue(optimizer.type));
  section.set("params", std::move(params));
  return section;
}

}  // namespace simmesh::zero
