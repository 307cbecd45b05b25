#include "zero/engine/config_report.h"

#include <fmt/format.h>

#include "core/check/append_text.h"
#include "core/check/error.h"
#include "core/check/join_text.h"
#include "zero/config/config_features.h"
#include "zero/config/config_foreign.h"
#include "zero/config/config_keys.h"
#include "zero/engine/config_cost.h"
#include "zero/engine/configured_optimizer.h"
#include "zero/engine/engine_setup.h"

namespace simmesh::zero {

namespace {

// True if the file gives a key by one of its names.
bool is_given_by(const JsonValue& file, const std::string& path) {
  if (value_at(file, path) != nullptr) return true;
  std::size_t dot = path.rfind('.');
  if (dot == path.npos) return false;
  std::string section = path.substr(0, dot), name = path.substr(dot + 1);
  bool is_half_of_muon = name == "muon_lr" || name == "adam_lr";
  if (section == "optimizer.params" && is_half_of_muon)
    return value_at(file, "optimizer.params.lr") != nullptr;
  if (section == "bf16") return value_at(file, "bfloat16." + name) != nullptr;
  if (section != "zero_optimization") return false;
  for (const auto& key : config_keys<ZeroOptimization>())
    if (key.name == name)
      for (const std::string& other : {key.alias, key.old_name})
        if (!other.empty() && value_at(file, fmt::format("{}.{}", section, other)) != nullptr)
          return true;
  return false;
}

// Adds a line for each value of an object and of the objects in it.
void add_lines(const JsonValue& object, const std::string& prefix, const JsonValue& file,
               const ConfigCost& cost, std::vector<ConfigLine>& lines) {
  for (const auto& [name, value] : *object.get<JsonValue::Object>()) {
    std::string path = prefix + name;
    if (value.get<JsonValue::Object>() != nullptr)
      add_lines(value, path + ".", file, cost, lines);
    else
      lines.push_back({path, value, is_given_by(file, path), cost.of(path)});
  }
}

void check_configured_optimizer(const Config& config) {
  if (config.optimizer) check_optimizer(*configured_optimizer(*config.optimizer)({}), config);
}

// Reads a number or a flag; a list has commas.
JsonValue auto_value(const std::string& text) {
  bool is_bare_list = text.find(',') != text.npos && !text.starts_with('[');
  std::string json = is_bare_list ? "[" + text + "]" : text;
  return JsonValue::parse(json, "zero/config");
}

template <class T>
bool read_auto_as(const std::string& name, const char* known, const std::string& text,
                  std::optional<T>& out) {
  if (name != known) return false;
  JsonValue value = auto_value(text);
  read_value({value, name}, {}, out.emplace());
  return true;
}

}  // namespace

ConfigReport report_config(const ConfigQuestion& question) {
  Config config = Config::from_value(question.config);
  ConfigReport report{.ranks = question.ranks, .sizes = config.batch_sizes(question.ranks)};
  completed_config(config, question.ranks, true);
  check_configured_optimizer(config);
  config.train_batch_size = report.sizes.train_batch_size;
  config.train_micro_batch_size_per_gpu = report.sizes.train_micro_batch_size_per_gpu;
  config.gradient_accumulation_steps = report.sizes.gradient_accumulation_steps;
  ConfigCost cost(config, question.ranks, question.parameters);
  add_lines(JsonValue::parse(config.to_json()), "", question.config, cost, report.lines);
  report.idle = idle_keys(question.config);
  report.unknown = unknown_keys(question.config);
  return report;
}

std::string ConfigReport::to_text() const {
  std::string text = fmt::format(
      "train_batch_size {} = train_micro_batch_size_per_gpu {} * gradient_accumulation_steps {} * "
      "{} ranks\n",
      sizes.train_batch_size, sizes.train_micro_batch_size_per_gpu,
      sizes.gradient_accumulation_steps, ranks);
  for (const ConfigLine& line : lines)
    append_text(text, "{} = {}{}{}{}\n", line.key, line.value.text_utf8(),
                line.is_given ? "" : " (default)", line.cost.empty() ? "" : ": ", line.cost);
  if (!idle.empty()) append_text(text, "without effect here: {}\n", join_text(idle, ", "));
  if (!unknown.empty()) append_text(text, "unknown to DeepSpeed: {}\n", join_text(unknown, ", "));
  return text;
}

JsonValue ConfigReport::to_json() const {
  JsonValue::List keys;
  for (const ConfigLine& line : lines)
    keys.push_back(JsonValue::object({{"key", line.key},
                                      {"value", line.value},
                                      {"is_given", line.is_given},
                                      {"cost", line.cost}}));
  return JsonValue::object(
      {{"ranks", ranks},
       {"train_batch_size", sizes.train_batch_size},
       {"train_micro_batch_size_per_gpu", sizes.train_micro_batch_size_per_gpu},
       {"gradient_accumulation_steps", sizes.gradient_accumulation_steps},
       {"keys", std::move(keys)},
       {"without_effect", idle},
       {"unknown", unknown}});
}

void read_auto(const std::string& assignment, AutoValues& autos) {
  std::size_t equals = assignment.find('=');
  std::string name = assignment.substr(0, equals);
  std::string text = equals == assignment.npos ? "" : assignment.substr(equals + 1);
  if (text.empty())
    raise(ErrorKind::value_error, "zero/config",
          "expected a value for \"auto\" such as hidden_size=4096, got {}", assignment);
  if (read_auto_as(name, "train_batch_size", text, autos.train_batch_size) ||
      read_auto_as(name, "train_micro_batch_size_per_gpu", text,
                   autos.train_micro_batch_size_per_gpu) ||
      read_auto_as(name, "gradient_accumulation_steps", text, autos.gradient_accumulation_steps) ||
      read_auto_as(name, "gradient_clipping", text, autos.gradient_clipping) ||
      read_auto_as(name, "fp16", text, autos.fp16) ||
      read_auto_as(name, "bf16", text, autos.bf16) || read_auto_as(name, "lr", text, autos.lr) ||
      read_auto_as(name, "weight_decay", text, autos.weight_decay) ||
      read_auto_as(name, "betas", text, autos.betas) ||
      read_auto_as(name, "eps", text, autos.eps) ||
      read_auto_as(name, "hidden_size", text, autos.hidden_size) ||
      read_auto_as(name, "warmup_num_steps", text, autos.warmup_num_steps) ||
      read_auto_as(name, "total_num_steps", text, autos.total_num_steps))
    return;
  raise(ErrorKind::value_error, "zero/config",
        "expected the name of a value for \"auto\", such as hidden_size, lr or "
        "train_micro_batch_size_per_gpu, got {}",
        name);
}

}  // namespace simmesh::zero
