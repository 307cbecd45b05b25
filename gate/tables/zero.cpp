#include "gate/tables/zero.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>

#include "zero/config/config_keys.h"
#include "zero/config/hjson.h"

namespace simmesh {

namespace {

// True for a value that JSON has: no date, no time, no infinity and no NaN.
bool is_json(const toml::node& node) {
  if (const toml::array* list = node.as_array())
    return std::all_of(list->begin(), list->end(), is_json);
  if (const toml::table* table = node.as_table())
    return std::all_of(table->begin(), table->end(),
                       [](const auto& entry) { return is_json(entry.second); });
  if (auto number = node.as_floating_point()) return std::isfinite(number->get());
  return node.is_boolean() || node.is_integer() || node.is_string();
}

JsonValue json_of(const toml::node& node) {
  if (auto flag = node.as_boolean()) return JsonValue(flag->get());
  if (auto number = node.as_integer()) return JsonValue(std::int64_t(number->get()));
  if (auto number = node.as_floating_point()) return JsonValue(number->get());
  if (auto text = node.as_string()) return JsonValue(text->get());
  if (const toml::array* list = node.as_array()) {
    JsonValue::List entries;
    for (const toml::node& entry : *list) entries.push_back(json_of(entry));
    return {std::move(entries)};
  }
  JsonValue object = JsonValue::object();
  if (const toml::table* table = node.as_table())
    for (const auto& [key, entry] : *table) object.set(key.str(), json_of(entry));
  return object;
}

std::vector<std::string> known_keys() {
  std::vector<std::string> names = {"mesh"};
  for (const auto& key : zero::config_keys<zero::ZeroOptimization>()) {
    names.push_back(key.name);
    if (!key.alias.empty()) names.push_back(key.alias);
  }
  return names;
}

// Returns a value as TOML. TOML has no null, so such keys are left out.
std::string toml_text(const JsonValue& value) {
  if (const auto* list = value.get<JsonValue::List>()) {
    std::string text;
    for (const JsonValue& entry : *list) text += (text.empty() ? "" : ", ") + toml_text(entry);
    return "[" + text + "]";
  }
  const auto* object = value.get<JsonValue::Object>();
  if (object == nullptr) return value.text();
  std::string text;
  for (const auto& [key, entry] : *object)
    if (!entry.is_null())
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", key, toml_text(entry));
  return "{ " + text + " }";
}

}  // namespace

GateZero read_gate_zero(GateTable& table, const GateLayout& layout) {
  GateZero result{.mesh = table.word("mesh", layout.names.front(), layout.names)};
  JsonValue section = JsonValue::object();
  section.set("stage", JsonValue(std::int64_t(3)));
  std::vector<std::string> known = known_keys();
  for (const std::string& key : table.keys()) {
    if (key == "mesh") continue;
    if (std::find(known.begin(), known.end(), key) == known.end())
      table.reject_value(key, fmt::format("a known key such as '{}'", nearest(key, known)),
                         "an unknown one");
    if (!is_json(*table.value(key)))
      table.reject(key, "a value that JSON has: no date, no time and no infinity");
    section.set(key, json_of(*table.value(key)));
  }
  JsonValue config = JsonValue::object();
  config.set("train_batch_size", JsonValue(std::int64_t(1)));
  config.set("zero_optimization", std::move(section));
  try {
    result.config = zero::Config::from_json(config.text());
  } catch (const Error& error) {
    throw BadGate(table.place(),
                  fmt::format("key '{}': expected keys of zero_optimization that go together: {}",
                              table.path_of("stage"), error.message()));
  }
  result.config.train_batch_size.reset();
  table.finish();
  return result;
}

std::string zero_file_path(const std::string& gate_file, const std::string& path) {
  return (std::filesystem::path(gate_file).parent_path() / path).string();
}

GateZero read_gate_zero_file(GateTable& table, std::string_view key, const GateLayout& layout) {
  GateZero result{.mesh = layout.names.front(), .file = table.text(key, "")};
  try {
    JsonValue file = zero::read_hjson_file(zero_file_path(table.file(), result.file));
    JsonValue config = JsonValue::object();
    config.set("train_batch_size", JsonValue(1));
    if (const JsonValue* section = file.find("zero_optimization"))
      config.set("zero_optimization", *section);
    result.config = zero::Config::from_value(std::move(config));
  } catch (const Error& error) {
    table.reject_value(key, "a DeepSpeed configuration", error.message());
  }
  return result;
}

std::string zero_entry(const GateZero& zero) {
  if (!zero.file.empty()) return JsonValue(zero.file).text();
  JsonValue entry = JsonValue::object();
  entry.set("mesh", JsonValue(zero.mesh));
  JsonValue config = JsonValue::parse(zero.config.to_json());
  for (const auto& [key, value] : *config.find("zero_optimization")->get<JsonValue::Object>())
    entry.set(key, value);
  return toml_text(entry);
}

}  // namespace simmesh
