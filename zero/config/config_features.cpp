#include "zero/config/config_features.h"

#include <algorithm>

#include "core/check/edit_distance.h"
#include "core/check/error.h"
#include "zero/config/config_keys.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view features_source = "zero/config";

// A section without a key `enabled` is used where it is present.
constexpr const char* sections[] = {"compression_training", "tensor_parallel", "pipeline",
                                    "sparse_attention"};
constexpr const char* switched_sections[] = {
    "amp",        "torch_autocast",   "progressive_layer_drop",
    "eigenvalue", "data_efficiency",  "curriculum_learning",
    "elasticity", "quantize_training"};

}  // namespace

void take_default_only(JsonValue& section, const std::string& path, const char* name,
                       const JsonValue& value) {
  const JsonValue* found = section.find(name);
  if (found == nullptr) return;
  JsonValue given = *found;
  if (const bool* flag = value.get<bool>(); flag != nullptr && !given.is_null()) {
    bool is_set = false;
    read_value({*found, path + name}, {}, is_set);
    given = JsonValue(is_set);
  }
  if (!given.is_null() && given.text() != value.text())
    raise(ErrorKind::value_error, features_source, "{}{}: expected {}, got {}", path, name,
          value.text(80), found->text(80));
  section.erase(name);
}

void refuse_missing_features(const JsonValue& config) {
  for (const char* name : sections)
    if (const JsonValue* found = config.find(name); found != nullptr && !found->is_null())
      raise(ErrorKind::value_error, features_source, "{}: expected no such section, got one", name);
  for (const char* name : switched_sections) {
    const JsonValue* found = config.find(name);
    const JsonValue* enabled = found == nullptr ? nullptr : found->find("enabled");
    if (enabled == nullptr) continue;
    bool is_enabled = false;
    read_value({*enabled, std::string(name) + ".enabled"}, {}, is_enabled);
    if (is_enabled)
      raise(ErrorKind::value_error, features_source, "{}.enabled: expected false, got true", name);
  }
  JsonValue copy = config;
  take_default_only(copy, "", "sparse_gradients", JsonValue(false));
  take_default_only(copy, "", "graph_harvesting", JsonValue(false));
}

void refuse_misspelt_keys(const JsonValue& config) {
  constexpr std::size_t edits_max = 2, letters_min = 8;
  std::vector<std::string_view> known = {"zero_optimization", "data_types", "optimizer",
                                         "scheduler"};
  for (const ConfigKey<Config>& key : config_keys<Config>()) known.emplace_back(key.name);
  for (const auto& [name, value] : *config.get<JsonValue::Object>()) {
    std::string_view written = std::string_view(name).substr(0, 100);
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    for (std::string_view key : known)
      if (key.size() >= letters_min && edit_distance(written, key) <= edits_max)
        raise(ErrorKind::value_error, features_source, "{}: expected a known key such as {}",
              written, key);
  }
}

}  // namespace simmesh::zero
