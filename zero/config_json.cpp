#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/check/edit_distance.h"
#include "core/check/error.h"
#include "zero/config_keys.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view file_source = "zero/config";

bool is_auto(const JsonValue& value) { return value.is_text("auto"); }

// Puts the value that "auto" stands for in its place.
template <class T>
void resolve_auto(JsonValue& object, const std::string& section, const std::string& name,
                  const std::optional<T>& value) {
  JsonValue* found = object.find(name);
  if (found == nullptr || !is_auto(*found)) return;
  if (!value)
    raise(ErrorKind::value_error, file_source,
          "{}{}: expected a value that \"auto\" stands for, got none", section, name);
  *found = written(*value);
}

void resolve_zero_autos(JsonValue& section, const AutoValues& autos) {
  if (autos.hidden_size) {
    std::int64_t size = *autos.hidden_size;
    resolve_auto<std::int64_t>(section, "", "reduce_bucket_size", size * size);
    resolve_auto<std::int64_t>(section, "", "stage3_prefetch_bucket_size", size * size * 9 / 10);
    resolve_auto<std::int64_t>(section, "", "stage3_param_persistence_threshold", 10 * size);
  }
  auto& entries = std::get<JsonValue::Object>(section.value);
  entries.erase(std::remove_if(entries.begin(), entries.end(),
                               [](const auto& entry) { return is_auto(entry.second); }),
                entries.end());
}

// Keys that simmesh knows and whose only value here is the default: they are refused otherwise.
void take_default_only(JsonValue& section, const std::string& path, const char* name,
                       const JsonValue& value) {
  const JsonValue* found = section.find(name);
  if (found == nullptr) return;
  if (!found->is_null() && found->text() != value.text())
    raise(ErrorKind::value_error, file_source, "{}{}: expected {}, got {}", path, name,
          value.text(80), found->text(80));
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
  offload.set("device", JsonValue::of("cpu"));
  section.set(name, std::move(offload));
}

void read_zero(JsonValue section, const AutoValues& autos, ZeroOptimization& zero) {
  if (const auto* flag = section.get<bool>()) {
    zero.stage = *flag ? 1 : 0;
    return;
  }
  expect_object({section, "zero_optimization"});
  resolve_zero_autos(section, autos);
  renew(section, "cpu_offload", "offload_optimizer");
  renew(section, "cpu_offload_param", "offload_param");
  section.erase("cpu_offload_use_pin_memory");
  take_default_only(section, "zero_optimization.", "zenflow", JsonValue());
  read_section({section, "zero_optimization"}, zero);
}

void read_fp16(JsonValue section, const AutoValues& autos, Fp16& fp16) {
  expect_object({section, "fp16"});
  resolve_auto(section, "fp16.", "enabled", autos.fp16);
  take_default_only(section, "fp16.", "auto_cast", JsonValue::of(false));
  take_default_only(section, "fp16.", "fp16_master_weights_and_grads", JsonValue::of(false));
  read_section({section, "fp16"}, fp16);
}

void read_bf16(JsonValue section, const AutoValues& autos, Bf16& bf16) {
  expect_object({section, "bf16"});
  resolve_auto(section, "bf16.", "enabled", autos.bf16);
  section.erase("immediate_grad_update");
  take_default_only(section, "bf16.", "check_grad_overflow", JsonValue::of(true));
  take_default_only(section, "bf16.", "bf16_master_weights_and_grads", JsonValue::of(false));
  take_default_only(section, "bf16.", "bf16_optimizer_states", JsonValue::of(false));
  read_section({section, "bf16"}, bf16);
}

void read_optimizer(const JsonValue& section, const AutoValues& autos, OptimizerConfig& optimizer) {
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
  resolve_auto(params, "optimizer.params.", "lr", autos.lr);
  resolve_auto(params, "optimizer.params.", "betas", autos.betas);
  resolve_auto(params, "optimizer.params.", "eps", autos.eps);
  resolve_auto(params, "optimizer.params.", "weight_decay", autos.weight_decay);
  params.erase("torch_adam");
  read_section({params, "optimizer.params"}, optimizer);
}

// Sections of DeepSpeed that change a run and that simmesh doesn't have. Keys that only say what is
// printed or measured are left alone, as DeepSpeed leaves keys alone that it doesn't know.
void refuse_missing_features(const JsonValue& object) {
  for (const char* name : {"scheduler", "curriculum_learning", "compression_training",
                           "data_efficiency", "tensor_parallel", "pipeline"})
    if (const JsonValue* found = object.find(name); found != nullptr && !found->is_null())
      raise(ErrorKind::value_error, file_source, "{}: expected no such section, got one", name);
  for (const char* name : {"amp", "torch_autocast", "progressive_layer_drop", "eigenvalue"}) {
    const JsonValue* found = object.find(name);
    const JsonValue* enabled = found == nullptr ? nullptr : found->find("enabled");
    if (enabled == nullptr) continue;
    bool is_enabled = false;
    read_value({*enabled, std::string(name) + ".enabled"}, {}, is_enabled);
    if (is_enabled)
      raise(ErrorKind::value_error, file_source, "{}.enabled: expected false, got true", name);
  }
  JsonValue copy = object;
  take_default_only(copy, "", "sparse_gradients", JsonValue::of(false));
}

// DeepSpeed leaves top-level keys alone that it doesn't know. A misspelt one would train something
// else without a word, so a key that is nearly one of ours is refused. Short ones are too alike.
void refuse_misspelt_keys(const JsonValue& object) {
  constexpr std::size_t edits_max = 2, letters_min = 8;
  std::vector<std::string_view> known = {"zero_optimization", "data_types", "optimizer"};
  for (const ConfigKey<Config>& key : config_keys<Config>()) known.emplace_back(key.name);
  for (const auto& [name, value] : *object.get<JsonValue::Object>()) {
    std::string_view written = std::string_view(name).substr(0, 100);
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    for (std::string_view key : known)
      if (key.size() >= letters_min && edit_distance(written, key) <= edits_max)
        raise(ErrorKind::value_error, file_source, "{}: expected a known key such as {}", written,
              key);
  }
}

void read_top_level(JsonValue& object, const AutoValues& autos, Config& config) {
  resolve_auto(object, "", "train_batch_size", autos.train_batch_size);
  resolve_auto(object, "", "train_micro_batch_size_per_gpu", autos.train_micro_batch_size_per_gpu);
  resolve_auto(object, "", "gradient_accumulation_steps", autos.gradient_accumulation_steps);
  resolve_auto(object, "", "gradient_clipping", autos.gradient_clipping);
  for (const ConfigKey<Config>& key : config_keys<Config>())
    if (const JsonValue* found = object.find(key.name)) key.read({*found, key.name}, config);
}

template <class Section, class Read>
void read_named(const JsonValue& object, const char* name, const AutoValues& autos,
                Section& section, Read read) {
  if (const JsonValue* found = object.find(name)) read(*found, autos, section);
}

Config read_config(JsonValue object, const AutoValues& autos) {
  expect_object({object, "the configuration"});
  refuse_missing_features(object);
  refuse_misspelt_keys(object);
  Config config;
  read_top_level(object, autos, config);
  read_named(object, "zero_optimization", autos, config.zero_optimization, read_zero);
  read_named(object, "fp16", autos, config.fp16, read_fp16);
  read_named(object, "bf16", autos, config.bf16, read_bf16);
  if (const JsonValue* found = object.find("data_types"))
    read_section({*found, "data_types"}, config.data_types);
  if (const JsonValue* found = object.find("optimizer"); found != nullptr && !found->is_null())
    read_optimizer(*found, autos, config.optimizer.emplace());
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
  if (config.optimizer) {
    JsonValue optimizer = JsonValue::object();
    optimizer.set("type", JsonValue::of(config.optimizer->type));
    optimizer.set("params", write_section(*config.optimizer));
    object.set("optimizer", std::move(optimizer));
  }
  return object;
}

}  // namespace

Config Config::from_json(std::string_view text, const AutoValues& autos) {
  Config config = read_config(JsonValue::parse(text), autos);
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
