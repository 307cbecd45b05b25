#include "zero/config/config_features.h"

#include <algorithm>
#include <array>

#include "core/check/edit_distance.h"
#include "core/check/error.h"
#include "zero/config/config_foreign.h"
#include "zero/config/config_keys.h"
#include "zero/config/config_untyped.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view features_source = "zero/config";

constexpr std::array removed_keys = {
    "nebula",
    "compression_training",
    "amp",
    "quantize_training",
    "sparse_gradients",
    "eigenvalue",
    "sparse_attention",
    "elasticity",
    "graph_harvesting",
    "curriculum_learning",
    "progressive_layer_drop",
    "zero_optimization.mics_shard_size",
    "zero_optimization.mics_hierarchical_params_gather",
    "zero_optimization.zeropp_loco_param",
};

constexpr std::array own_sections = {"zero_optimization", "fp16",       "bf16",
                                     "bfloat16",          "data_types", "optimizer",
                                     "scheduler",         "aio",        "torch_autocast"};

constexpr std::array idle_names = {
    "steps_per_print",
    "wall_clock_breakdown",
    "memory_breakdown",
    "dump_state",
    "disable_allgather",
    "disable_python_gc",
    "dataloader_drop_last",
    "log_level",
    "vocabulary_size",
    "use_data_before_expert_parallelism",
    "zero_force_ds_cpu_optimizer",
    "seq_parallel_communication_data_type",
    "sequence_parallel_size",
    "pipeline",
    "activation_checkpointing",
    "flops_profiler",
    "autotuning",
    "datastates_ckpt",
    "checkpoint",
    "data_efficiency",
    "expert_parallel",
    "timers",
};

using Holds = bool (*)(const JsonValue&);

// Lack is a key, the values of it that simmesh has nothing for, and the name of the feature.
struct Lack {
  std::string path;
  Holds holds;
  std::string feature;
};

bool is_flag_set(const JsonValue& value) {
  if (value.is_text("auto")) return false;
  bool flag = false;
  read_value({value, ""}, {}, flag);
  return flag;
}

bool is_above_one(const JsonValue& value) {
  if (value.is_text("auto")) return false;
  double number = 0;
  read_value({value, ""}, {}, number);
  return number > 1;
}

bool is_given(const JsonValue& value) { return !value.is_null(); }

bool is_enabled(const JsonValue& section) {
  const JsonValue* enabled = section.find("enabled");
  return enabled != nullptr && is_truthy(*enabled);
}

bool is_int8_autocast(const JsonValue& section) {
  const JsonValue* dtype = section.find("dtype");
  return is_enabled(section) && dtype != nullptr &&
         (dtype->is_text("int8") || dtype->is_text("torch.int8"));
}

// True if a part of the section, or a part of that, is enabled with the section.
bool uses_data_efficiency(const JsonValue& section) {
  if (!is_enabled(section)) return false;
  for (const char* name : {"data_sampling", "data_routing"}) {
    const JsonValue* part = section.find(name);
    if (part == nullptr) continue;
    if (is_enabled(*part)) return true;
    for (const auto& [key, value] : *part->get<JsonValue::Object>())
      if (value.get<JsonValue::Object>() != nullptr && is_enabled(value)) return true;
  }
  return false;
}

std::vector<Lack> lacks() {
  return {
      {"zero_optimization.zenflow", is_given, "ZenFlow"},
      {"tensor_parallel.autotp_size", is_above_one,
       "AutoTP, see docs/parallel.md for tensor parallelism"},
      {"tensor_parallel.tp.tp_size", is_above_one, "AutoTP"},
      {"tensor_parallel.tensor_parallel.tp_size", is_above_one, "AutoTP"},
      {"compile.deepcompile", is_flag_set, "DeepCompile"},
      {"hybrid_engine.enabled", is_flag_set, "hybrid engine"},
      {"weight_quantization", is_given, "quantised initialisation of weights"},
      {"expert_parallel", is_enabled, "AutoEP, see docs/parallel.md for expert parallelism"},
      {"torch_autocast", is_int8_autocast, "autocast in int8"},
      {"data_efficiency", uses_data_efficiency, "data sampling and routing"},
      {"sequence_parallel_size", is_above_one, "Ulysses sequence parallelism"},
  };
}

std::vector<std::string> known_keys_of_config() {
  std::vector<std::string> known(own_sections.begin(), own_sections.end());
  for (const ConfigKey<Config>& key : config_keys<Config>()) known.push_back(key.name);
  return known;
}

template <class Names>
bool holds_name(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The first section on the way to a section of DeepSpeed's.
bool is_foreign(std::string_view name) {
  for (const ForeignSection& section : foreign_sections())
    if (std::string_view(section.path).substr(0, section.path.find('.')) == name) return true;
  return false;
}

}  // namespace

void refuse_removed_keys(const JsonValue& config) {
  for (const char* path : removed_keys)
    if (value_at(config, path) != nullptr)
      raise(ErrorKind::value_error, features_source,
            "{}: expected no such key, got one that DeepSpeed 0.19.8 has removed", path);
}

void refuse_missing_features(const JsonValue& config) {
  static const std::vector<Lack> all = lacks();
  for (const Lack& lack : all)
    if (const JsonValue* found = value_at(config, lack.path); found && lack.holds(*found))
      raise(ErrorKind::value_error, features_source, "{}: simmesh has no {}, got {}", lack.path,
            lack.feature, found->text(80));
}

void refuse_misspelt_keys(const JsonValue& config) {
  constexpr std::size_t edits_max = 2, letters_min = 8;
  std::vector<std::string> known = known_keys_of_config();
  for (const auto& [name, value] : *config.get<JsonValue::Object>()) {
    std::string_view written = std::string_view(name).substr(0, 100);
    if (holds_name(known, name)) continue;
    for (std::string_view key : known)
      if (key.size() >= letters_min && edit_distance(written, key) <= edits_max)
        raise(ErrorKind::value_error, features_source, "{}: expected a known key such as {}",
              written, key);
  }
}

std::vector<std::string> idle_keys(const JsonValue& config) {
  std::vector<std::string> idle;
  for (const auto& [name, value] : *config.get<JsonValue::Object>())
    if (name != "zero_optimization" && (holds_name(idle_names, name) || is_foreign(name)))
      idle.push_back(name);
  return idle;
}

std::vector<std::string> unknown_keys(const JsonValue& config) {
  std::vector<std::string> known = known_keys_of_config(), idle = idle_keys(config), unknown;
  for (const auto& [name, value] : *config.get<JsonValue::Object>())
    if (!holds_name(known, name) && !holds_name(idle, name)) unknown.push_back(name);
  return unknown;
}

}  // namespace simmesh::zero
