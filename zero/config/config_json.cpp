
#include "core/check/error.h"
#include "zero/config/config.h"
#include "zero/config/config_autos.h"
#include "zero/config/config_features.h"
#include "zero/config/config_foreign.h"
#include "zero/config/config_keys.h"
#include "zero/config/config_untyped.h"
#include "zero/config/hjson.h"
#include "zero/config/optimizer_json.h"
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
    raise(ErrorKind::assertion_error, file_source,
          "expected zero_optimization.{} or zero_optimization.{}, got both", old_name, name);
  std::optional<bool> offloads;
  read_value({*found, std::string("zero_optimization.") + old_name}, {}, offloads);
  section.erase(old_name);
  if (offloads != true) return;
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
  section.erase("zenflow");
  read_section({section, "zero_optimization"}, zero);
  if (!zero.compute_grad_norm && zero.stage != 1 && zero.stage != 2)
    raise(ErrorKind::value_error, file_source,
          "zero_optimization.compute_grad_norm: expected true but in stages 1 and 2, got false in "
          "stage {}",
          zero.stage);
  if (zero.offload_optimizer && zero.offload_optimizer->ratio < 1 && zero.stage != 3)
    raise(ErrorKind::value_error, file_source,
          "zero_optimization.offload_optimizer.ratio: expected 1 in stage {}, got {}", zero.stage,
          zero.offload_optimizer->ratio);
}

void expect_above_zero(const char* key, std::int64_t number) {
  if (number <= 0)
    raise(ErrorKind::value_error, file_source,
          "{}: expected a number greater than 0 where the loss scale is dynamic, got {}", key,
          number);
}

void read_fp16(const JsonValue& section, Fp16& fp16) {
  expect_object({section, "fp16"});
  for (const char* name : {"loss_scale", "loss_scale_window", "min_loss_scale"})
    if (const JsonValue* found = section.find(name); found && found->get<bool>() != nullptr)
      raise(ErrorKind::value_error, file_source, "fp16.{}: expected a number, got {}", name,
            found->text());
  read_section({section, "fp16"}, fp16);
  if (!fp16.enabled || fp16.loss_scale > 0) return;
  expect_above_zero("fp16.loss_scale_window", fp16.loss_scale_window);
  expect_above_zero("fp16.min_loss_scale", fp16.min_loss_scale);
}

// A missing section, or a null, leaves the word to the section of the old name.
void read_bf16(const JsonValue& object, Bf16& bf16) {
  const JsonValue* found = object.find("bf16");
  bool is_old = found == nullptr || found->is_null();
  if (is_old) found = object.find("bfloat16");
  if (found != nullptr) read_section({*found, is_old ? "bfloat16" : "bf16"}, bf16);
}

// Reads the keys of a section that have an effect here; DeepSpeed leaves all others alone.
template <class Section>
void read_known(const JsonValue& object, const char* name, Section& section) {
  const JsonValue* found = object.find(name);
  if (found == nullptr || found->is_null()) return;
  JsonValue known = JsonValue::object();
  for (const ConfigKey<Section>& key : config_keys<Section>())
    if (const JsonValue* value = found->find(key.name)) known.set(key.name, *value);
  read_section({known, name}, section);
}

template <class Section, class Read>
void read_named(const JsonValue& object, const char* name, Section& section, Read read) {
  if (const JsonValue* found = object.find(name)) read(*found, section);
}

// The words of the dtype were checked before; int8 is refused later.
std::optional<DType> read_autocast_dtype(const JsonValue& section) {
  const JsonValue* found = section.find("dtype");
  if (found == nullptr) return {};
  std::string_view word = *found->get<std::string>();
  if (word.starts_with("torch.")) word.remove_prefix(6);
  if (word == "bf16" || word == "bfloat16") return DType::bfloat16;
  if (word == "fp16" || word == "float16" || word == "half") return DType::float16;
  return DType::float32;
}

void read_autocast(const JsonValue& section, TorchAutocast& autocast) {
  const JsonValue* enabled = section.find("enabled");
  autocast.enabled = enabled != nullptr && is_truthy(*enabled);
  autocast.dtype = read_autocast_dtype(section);
  const JsonValue* modules = section.find("lower_precision_safe_modules");
  if (modules == nullptr || !autocast.enabled) return;
  std::vector<std::string>& names = autocast.lower_precision_safe_modules.emplace();
  if (const auto* list = modules->get<JsonValue::List>())
    for (const JsonValue& name : *list) names.push_back(*name.get<std::string>());
  // DeepSpeed takes a text as the list of its letters, and refuses these when an engine is made.
  if (const auto* text = modules->get<std::string>())
    for (char letter : *text) names.emplace_back(1, letter);
}

JsonValue written_autocast(const TorchAutocast& autocast) {
  JsonValue section = JsonValue::object();
  section.set("enabled", JsonValue(true));
  if (autocast.dtype) section.set("dtype", written(*autocast.dtype));
  if (autocast.lower_precision_safe_modules)
    section.set("lower_precision_safe_modules", written(*autocast.lower_precision_safe_modules));
  return section;
}

// Raises where two keys contradict each other, after each of them was read.
void check_together(const JsonValue& object, const Config& config) {
  std::int64_t stage = config.zero_optimization.stage;
  if (config.fp16.enabled && config.bf16.enabled)
    raise(ErrorKind::assertion_error, file_source,
          "expected fp16.enabled or bf16.enabled, got both: bfloat16 and fp16 modes cannot be "
          "simultaneously enabled");
  const JsonValue* is_our_sum = object.find("sum_gradients");
  if (config.sum_gradients && is_our_sum == nullptr && stage == 3)
    raise(ErrorKind::value_error, file_source,
          "gradient_allreduce_op: expected 'mean' in stage 3, got 'sum'");
  for (auto [key, is_set] :
       {std::pair("fp16.fp16_master_weights_and_grads", config.fp16.fp16_master_weights_and_grads),
        std::pair("bf16.bf16_master_weights_and_grads", config.bf16.bf16_master_weights_and_grads),
        std::pair("bf16.bf16_optimizer_states", config.bf16.bf16_optimizer_states)})
    if (is_set && stage == 0)
      raise(ErrorKind::assertion_error, file_source, "{}: expected stage 1, 2 or 3, got 0", key);
  if (config.bf16.bf16_optimizer_states && !config.bf16.bf16_master_weights_and_grads)
    raise(ErrorKind::assertion_error, file_source,
          "bf16.bf16_optimizer_states: expected bf16_master_weights_and_grads to be true");
}

Config read_config(JsonValue object, const AutoValues& autos) {
  expect_object({object, "the configuration"});
  refuse_removed_keys(object);
  refuse_misspelt_keys(object);
  check_untyped_sections(object);
  resolve_autos(object, autos);
  Config config;
  for (const ConfigKey<Config>& key : config_keys<Config>())
    if (const JsonValue* found = object.find(key.name)) key.read({*found, key.name}, config);
  read_named(object, "zero_optimization", config.zero_optimization, read_zero);
  read_named(object, "fp16", config.fp16, read_fp16);
  read_bf16(object, config.bf16);
  read_named(object, "torch_autocast", config.torch_autocast, read_autocast);
  read_known(object, "aio", config.aio);
  read_known(object, "data_types", config.data_types);
  if (const JsonValue* found = object.find("optimizer"))
    config.optimizer =
        read_optimizer(*found, is_offloaded(config.zero_optimization.offload_optimizer));
  if (const JsonValue* found = object.find("scheduler")) config.scheduler = read_scheduler(*found);
  check_foreign_sections(object);
  check_together(object, config);
  refuse_missing_features(object);
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
  if (config.torch_autocast.enabled)
    object.set("torch_autocast", written_autocast(config.torch_autocast));
  object.set("data_types", write_section(config.data_types));
  object.set("aio", write_section(config.aio));
  if (config.optimizer) object.set("optimizer", written_optimizer(*config.optimizer));
  if (config.scheduler) object.set("scheduler", written_scheduler(*config.scheduler));
  return object;
}

}  // namespace

Config Config::from_json(std::string_view text, const AutoValues& autos) {
  return from_value(parse_hjson(text), autos);
}

Config Config::from_value(JsonValue value, const AutoValues& autos) {
  Config config = read_config(std::move(value), autos);
  if (!config.train_batch_size && !config.train_micro_batch_size_per_gpu)
    raise(ErrorKind::assertion_error, file_source,
          "expected train_batch_size or train_micro_batch_size_per_gpu, got neither");
  return config;
}

Config Config::from_json_file(const std::string& path, const AutoValues& autos) {
  return from_value(read_hjson_file(path), autos);
}

std::string Config::to_json() const { return written_config(*this).text(); }

void Config::check() const { read_config(written_config(*this), {}); }

}  // namespace simmesh::zero
