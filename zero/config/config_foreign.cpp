#include "zero/config/config_foreign.h"

#include <algorithm>

namespace simmesh::zero {

namespace {

constexpr std::string_view foreign_source = "zero/config";
using Check = std::function<void(const ConfigValue&)>;
using Keys = std::vector<ForeignKey>;

[[noreturn]] void refuse_foreign(const ConfigValue& value, std::string_view expected) {
  raise(ErrorKind::value_error, foreign_source, "{}: expected {}, got {}", value.path, expected,
        value.json.text(80));
}

template <class T>
Check check_as(ConfigBounds bounds = {}) {
  return [bounds](const ConfigValue& value) {
    T out;
    read_value(value, bounds, out);
  };
}

Check or_null(Check check) {
  return [check = std::move(check)](const ConfigValue& value) {
    if (!value.json.is_null()) check(value);
  };
}

const Check a_flag = check_as<bool>(), an_integer = check_as<std::int64_t>(),
            a_number = check_as<double>(), a_text = check_as<std::string>();

void any_value(const ConfigValue&) {}

void a_list(const ConfigValue& value) {
  if (value.json.get<JsonValue::List>() == nullptr) refuse_foreign(value, "a list");
}

void an_object(const ConfigValue& value) {
  if (value.json.get<JsonValue::Object>() == nullptr) refuse_foreign(value, "an object");
}

// A file can't hold a dtype of PyTorch.
void a_dtype(const ConfigValue& value) { refuse_foreign(value, "no key that needs a torch.dtype"); }

Check a_word(std::vector<std::string> words) {
  return [words = std::move(words)](const ConfigValue& value) {
    for (const std::string& word : words)
      if (value.json.is_text(word)) return;
    refuse_foreign(value, fmt::format("'{}' or another known word", words.front()));
  };
}

Check a_list_of(Check entry) {
  return [entry = std::move(entry)](const ConfigValue& value) {
    a_list(value);
    for (const JsonValue& item : *value.json.get<JsonValue::List>()) entry({item, value.path});
  };
}

// Zenflow's intervals are "auto" or an integer.
Check an_interval(std::int64_t min) {
  return [min](const ConfigValue& value) {
    if (value.json.get<std::string>() != nullptr && !value.json.is_text("auto"))
      refuse_foreign(value, "'auto' or an integer");
    if (value.json.is_text("auto")) return;
    std::int64_t interval = 0;
    read_value(value, {.min = double(min)}, interval);
  };
}

Keys flags(std::initializer_list<const char*> names) {
  Keys keys;
  for (const char* name : names) keys.push_back({name, a_flag});
  return keys;
}

Keys joined(Keys keys, Keys more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

Keys compile_keys() {
  return joined(flags({"deepcompile", "autoep_non_moe", "free_activation", "offload_activation",
                       "offload_activation_pin_memory", "offload_opt_states", "double_buffer",
                       "symmetric_memory", "debug_log", "offload_parameters", "sync_before_reduce",
                       "sync_after_reduce", "sync_before_allgather", "sync_after_allgather",
                       "keep_int_input_tensors", "keep_all_input_tensors"}),
                {{"free_activation_threshold", an_integer},
                 {"passes", or_null(a_list_of(a_word({"z1", "z3", "autosp", "autotp"})))}});
}

Keys comet_keys() {
  Keys keys = {
      {"enabled", a_flag}, {"samples_log_interval", an_integer}, {"online", or_null(a_flag)}};
  for (const char* name :
       {"project", "workspace", "api_key", "experiment_name", "experiment_key", "mode"})
    keys.push_back({name, or_null(a_text)});
  return keys;
}

Keys zenflow_keys() {
  const ConfigBounds part{.min = 0, .max = 1};
  return {{"topk_ratio", check_as<double>({.min = 0, .is_open = true, .max = 1})},
          {"select_strategy", a_word({"auto", "step", "epoch"})},
          {"select_interval", an_interval(std::numeric_limits<std::int64_t>::min())},
          {"update_interval", an_interval(1)},
          {"overlap_step", a_flag},
          {"offload", a_flag},
          {"auto_ratio", check_as<double>(part)},
          {"full_warm_up_rounds", an_integer},
          {"pt_reserved_cores_perc", check_as<double>(part)},
          {"steps_per_epoch", or_null(an_integer)}};
}

Keys tensor_parallel_keys() {
  return {{"dtype", a_dtype},
          {"autotp_size", an_integer},
          {"tp_overlap_comm", a_flag},
          {"vocab_parallel_lm_head", or_null(a_flag)},
          {"vocab_parallel_ce_backend", a_word({"torch", "liger"})},
          {"tensor_parallel", an_object, "tp"},
          {"injection_policy_tuple", or_null(a_list)},
          {"partition_config", or_null(an_object)},
          {"preset_model", or_null(a_text)},
          {"keep_module_on_host", a_flag},
          {"replace_with_kernel_inject", a_flag, "kernel_inject"}};
}

Keys file_monitor_keys() {
  return {{"enabled", a_flag}, {"output_path", a_text}, {"job_name", a_text}};
}

std::vector<ForeignSection> all_foreign_sections() {
  Keys sizes = {{"tp_size", an_integer},
                {"tp_grain_size", an_integer},
                {"mpu", any_value},
                {"tp_group", any_value}};
  return {
      {"tensor_parallel", tensor_parallel_keys()},
      {"tensor_parallel.tp", sizes, true},
      {"tensor_parallel.tensor_parallel", sizes, true},
      {"compile", compile_keys()},
      {"hybrid_engine",
       joined(flags({"enabled", "release_inference_cache", "pin_parameters", "enable_cuda_graph"}),
              {{"max_out_tokens", check_as<std::int64_t>(above_zero)},
               {"inference_tp_size", an_integer},
               {"tp_gather_partition_size", an_integer}})},
      {"weight_quantization",
       {{"enabled", a_flag},
        {"num_bits", an_integer},
        {"q_type", a_word({"symmetric", "asymmetric"})},
        {"q_groups", an_integer},
        {"quantized_initialization", an_object},
        {"post_init_quant", an_object}}},
      {"comms_logger",
       joined(flags({"enabled", "prof_all", "verbose", "debug"}), {{"prof_ops", a_list}})},
      {"tensorboard", file_monitor_keys(), true},
      {"wandb",
       {{"enabled", a_flag},
        {"group", or_null(a_text)},
        {"team", or_null(a_text)},
        {"project", a_text}},
       true},
      {"csv_monitor", file_monitor_keys(), true},
      {"comet", comet_keys(), true},
      {"timers.throughput", flags({"enabled", "synchronized"})},
      {"zero_optimization.zenflow", zenflow_keys(), true},
  };
}

void check_section(const ForeignSection& section, const ConfigValue& value) {
  const auto* object = value.json.get<JsonValue::Object>();
  if (object == nullptr)
    raise(section.is_nested ? ErrorKind::value_error : ErrorKind::type_error, foreign_source,
          "{}: expected an object, got {}", value.path, value.json.text(80));
  for (const ForeignKey& key : section.keys)
    for (const auto& [name, entry] : *object)
      if ((name == key.name || (!key.alias.empty() && name == key.alias)) && !entry.is_text("auto"))
        key.check({entry, value.path + "." + name});
  for (const auto& [name, entry] : *object) {
    bool is_known = std::any_of(
        section.keys.begin(), section.keys.end(), [&name = name](const ForeignKey& key) {
          return name == key.name || (!key.alias.empty() && name == key.alias);
        });
    if (!is_known && !entry.is_text("auto"))
      raise(ErrorKind::value_error, foreign_source,
            "{}.{}: expected a known key, got one that is not permitted", value.path, name);
  }
}

}  // namespace

const std::vector<ForeignSection>& foreign_sections() {
  static const std::vector<ForeignSection> sections = all_foreign_sections();
  return sections;
}

const JsonValue* value_at(const JsonValue& config, std::string_view path) {
  const JsonValue* place = &config;
  while (place != nullptr && !path.empty()) {
    std::size_t dot = path.find('.');
    place = place->get<JsonValue::Object>() == nullptr ? nullptr : place->find(path.substr(0, dot));
    path = dot == path.npos ? std::string_view() : path.substr(dot + 1);
  }
  return place;
}

void check_foreign_sections(const JsonValue& config, std::string_view path) {
  for (const ForeignSection& section : foreign_sections()) {
    if (!path.empty() && section.path != path) continue;
    const JsonValue* found = value_at(config, section.path);
    if (found == nullptr || (found->is_null() && section.path == "zero_optimization.zenflow"))
      continue;
    check_section(section, {*found, section.path});
  }
}

}  // namespace simmesh::zero
