#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/check/error.h"
#include "zero/config/config.h"
#include "zero/config/config_autos.h"
#include "zero/config/config_features.h"
#include "zero/config/config_keys.h"
#include "zero/config/scheduler_json.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view file_source = "zero/config";

// Checks a flag that changes nothing here.
void take_flag(JsonValue& section, const std::string& path, const char* name) {
  const JsonValue* found = section.find(name);
  if (found == nullptr) return;
  std::optional<bool> flag;
  read_value({*found, path + name}, {}, flag);
  section.erase(name);
}

// Rewrites keys of old files.
void renew(JsonValue& section, const char* old_name, const char* name) {
  const JsonValue* found = section.find(old_name);
  if (found == nullptr) return;
  if (section.find(name) != nullptr)
    raise(ErrorKind::value_error, file_source,
          "expected zero_optimization.{} or zero_optimization.{}, got both", old_name, name);
  bool offloads = false;
  read_value({*found, std::string("zero_optimization.") + old_name}, {}, offloads);
  section.erase(old_name);
  if (!offloads) return;
  JsonValue offload = JsonValue::object();
  offload.set("device", JsonValue("cpu"));
  section.set(name, std::move(offload));
}

void read_zero(JsonValue section, ZeroOptimization& zero) {
  if (const auto* flag = section.get<bool>()) {
    zero.stage = *flag ? 1 : 0;
    return;
  }
  expect_object({section, "zero_optimization"});
  renew(section, "cpu_offload", "offload_optimizer");
  renew(section, "cpu_offload_param", "offload_param");
  take_flag(section, "zero_optimization.", "cpu_offload_use_pin_memory");
  take_default_only(section, "zero_optimization.", "zenflow", JsonValue());
  if (section.find("zeropp_loco_param") != nullptr)
    raise(ErrorKind::value_error, file_source,
          "zero_optimization.zeropp_loco_param: expected no such key, got one: DeepSpeed 0.19.8 "
          "has no error feedback of quantised gradients any more");
  read_section({section, "zero_optimization"}, zero);
  if (!zero.compute_grad_norm && zero.stage != 1 && zero.stage != 2)
    raise(ErrorKind::value_error, file_source,
          "zero_optimization.compute_grad_norm: expected true but in stages 1 and 2, got false in "
          "stage {}",
          zero.stage);
}

void expect_above_zero(const char* key, std::int64_t number) {
  if (number <= 0)
    raise(ErrorKind::value_error, file_source,
          "{}: expected a number greater than 0 where the loss scale is dynamic, got {}", key,
          number);
}

void read_fp16(JsonValue section, Fp16& fp16) {
  expect_object({section, "fp16"});
  take_default_only(section, "fp16.", "auto_cast", JsonValue(false));
  take_default_only(section, "fp16.", "fp16_master_weights_and_grads", JsonValue(false));
  for (const char* name : {"loss_scale", "loss_scale_window", "min_loss_scale"})
    if (const JsonValue* found = section.find(name); found && found->get<bool>() != nullptr)
      raise(ErrorKind::value_error, file_source, "fp16.{}: expected a number, got {}", name,
            found->text());
  read_section({section, "fp16"}, fp16);
  if (!fp16.enabled || fp16.loss_scale > 0) return;
  expect_above_zero("fp16.loss_scale_window", fp16.loss_scale_window);
  expect_above_zero("fp16.min_loss_scale", fp16.min_loss_scale);
}

void read_bf16(JsonValue section, Bf16& bf16) {
  expect_object({section, "bf16"});
  take_flag(section, "bf16.", "immediate_grad_update");
  take_default_only(section, "bf16.", "check_grad_overflow", JsonValue(true));
  take_default_only(section, "bf16.", "bf16_master_weights_and_grads", JsonValue(false));
  take_default_only(section, "bf16.", "bf16_optimizer_states", JsonValue(false));
  read_section({section, "bf16"}, bf16);
}

void read_optimizer(const JsonValue& section, OptimizerConfig& optimizer) {
  expect_object({section, "optimizer"});
  JsonValue params = JsonValue::object();
  for (const auto& [name, value] : *section.get<JsonValue::Object>()) {
    if (name == "type")
      read_value({value, "optimizer.type"}, {}, optimizer.type);
    else if (name == "params")
      params = value;
    else if (name != "legacy_fusion")
      raise(ErrorKind::value_error, file_source, "optimizer.{}: expected type or params", name);
  }
  std::string lower = optimizer.type;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  if (lower != "adam" && lower != "adamw" && lower != "sgd")
    raise(ErrorKind::value_error, file_source,
          "optimizer.type: expected Adam, AdamW or SGD, got {}", optimizer.type);
  optimizer.type = lower == "adam" ? "Adam" : lower == "adamw" ? "AdamW" : "SGD";
  expect_object({params, "optimizer.params"});
  for (const char* name : {"torch_adam", "fused"}) params.erase(name);
  take_default_only(params, "optimizer.params.", "bias_correction", JsonValue(true));
  take_default_only(params, "optimizer.params.", "amsgrad", JsonValue(false));
  read_section({params, "optimizer.params"}, optimizer);
}

// The way in which files are read and written doesn't matter here, except the size of a block.
void read_aio(const JsonValue& section, Aio& aio) {
  expect_object({section, "aio"});
  JsonValue known = JsonValue::object();
  if (const JsonValue* found = section.find("block_size")) known.set("block_size", *found);
  read_section({known, "aio"}, aio);
}

template <class Section, class Read>
void read_named(const JsonValue& object, const char* name, Section& section, Read read) {
  if (const JsonValue* found = object.find(name)) read(*found, section);
}

Config read_config(JsonValue object, const AutoValues& autos) {
  expect_object({object, "the configuration"});
  refuse_missing_features(object);
  refuse_misspelt_keys(object);
  resolve_autos(object, autos);
  Config config;
  for (const ConfigKey<Config>& key : config_keys<Config>())
    if (const JsonValue* found = object.find(key.name)) key.read({*found, key.name}, config);
  read_named(object, "zero_optimization", config.zero_optimization, read_zero);
  read_named(object, "fp16", config.fp16, read_fp16);
  read_named(object, "bf16", config.bf16, read_bf16);
  read_named(object, "aio", config.aio, read_aio);
  if (const JsonValue* found = object.find("data_types"))
    read_section({*found, "data_types"}, config.data_types);
  if (const JsonValue* found = object.find("optimizer"); found != nullptr && !found->is_null())
    read_optimizer(*found, config.optimizer.emplace());
  if (const JsonValue* found = object.find("scheduler")) config.scheduler = read_scheduler(*found);
  if (config.fp16.enabled && config.bf16.enabled)
    raise(ErrorKind::assertion_error, file_source,
          "expected fp16.enabled or bf16.enabled, got both: bfloat16 and fp16 modes cannot be "
          "simultaneously enabled");
  config.zero_optimization.overlap_comm = config.zero_optimization.overlaps();
  return config;
}

JsonValue written_config(const Config& config) {
  JsonValue object = JsonValue::object();
  for (const ConfigKey<Config>& key : config_keys<Config>())
    if (JsonValue value = key.write(config);
        !value.is_null() && (key.name != "sum_gradients" || config.sum_gradients))
      object.set(key.name, std::move(value));
  object.set("zero_optimization", write_section(config.zero_optimization));
  object.set("fp16", write_section(config.fp16));
  object.set("bf16", write_section(config.bf16));
  object.set("data_types", write_section(config.data_types));
  object.set("aio", write_section(config.aio));
  if (config.optimizer) {
    JsonValue optimizer = JsonValue::object();
    optimizer.set("type", JsonValue(config.optimizer->type));
    optimizer.set("params", write_section(*config.optimizer));
    object.set("optimizer", std::move(optimizer));
  }
  if (config.scheduler) object.set("scheduler", written_scheduler(*config.scheduler));
  return object;
}

}  // namespace

Config Config::from_json(std::string_view text, const AutoValues& autos) {
  Config config = read_config(JsonValue::parse(text, "zero/config"), autos);
  if (!config.train_batch_size && !config.train_micro_batch_size_per_gpu)
    raise(ErrorKind::assertion_error, file_source,
          "expected train_batch_size or train_micro_batch_size_per_gpu, got neither");
  return config;
}

Config Config::from_json_file(const std::string& path, const AutoValues& autos) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file)
    raise(ErrorKind::runtime_error, file_source, "{}: expected a file that can be read", path);
  return from_json(text.str(), autos);
}

std::string Config::to_json() const { return written_config(*this).text(); }

void Config::check() const { read_config(written_config(*this), {}); }

}  // namespace simmesh::zero
