#include "zero/config/config_untyped.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "zero/config/config_foreign.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view untyped_source = "zero/config";

[[noreturn]] void refuse_untyped(ErrorKind kind, const std::string& path, std::string_view expected,
                                 const JsonValue& value) {
  raise(kind, untyped_source, "{}: expected {}, got {}", path, expected, value.text(80));
}

bool is_object(const JsonValue& value) { return value.get<JsonValue::Object>() != nullptr; }

bool is_python_number(const JsonValue& value) {
  return value.get<bool>() != nullptr || value.get<std::int64_t>() != nullptr ||
         value.get<double>() != nullptr;
}

void expect_section(const JsonValue& config, const std::string& path) {
  const JsonValue* found = value_at(config, path);
  if (found != nullptr && !is_object(*found))
    refuse_untyped(ErrorKind::attribute_error, path, "an object", *found);
}

std::string uppercase_at(const JsonValue& config, const std::string& path) {
  const JsonValue* found = value_at(config, path);
  const auto* text = found == nullptr ? nullptr : found->get<std::string>();
  if (text == nullptr) refuse_untyped(ErrorKind::attribute_error, path, "a text", *found);
  std::string upper = *text;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return char(std::toupper(c)); });
  return upper;
}

// Checks a word, in letters of any case. A null counts as absent in the section writer only.
void check_word(const JsonValue& config, const std::string& path,
                const std::vector<std::string>& words, ErrorKind kind, bool is_nullable) {
  const JsonValue* found = value_at(config, path);
  if (found == nullptr || (is_nullable && found->is_null())) return;
  std::string upper = uppercase_at(config, path);
  if (std::find(words.begin(), words.end(), upper) == words.end())
    refuse_untyped(kind, path, fmt::format("{} or another known word", words.front()), *found);
}

void check_checkpoint(const JsonValue& config) {
  expect_section(config, "checkpoint");
  check_word(config, "checkpoint.tag_validation", {"WARN", "IGNORE", "FAIL"},
             ErrorKind::value_error, false);
  expect_section(config, "checkpoint.parallel_write");
  if (const JsonValue* found = value_at(config, "checkpoint.parallel_write.pipeline_stage")) {
    std::string text = found->text();
    if (text != "true" && text != "false" && text != "0" && text != "1" && text != "0.0" &&
        text != "1.0")
      refuse_untyped(ErrorKind::value_error, "checkpoint.parallel_write.pipeline_stage",
                     "true or false", *found);
  }
  const JsonValue* writer = value_at(config, "checkpoint.writer");
  if (writer == nullptr || writer->is_null()) return;
  expect_section(config, "checkpoint.writer");
  check_word(config, "checkpoint.writer.type", {"MOCK", "PYTHON", "FAST"},
             ErrorKind::assertion_error, true);
  check_word(config, "checkpoint.writer.data_parallel", {"REPLICA", "SOCKET", "MACHINE"},
             ErrorKind::assertion_error, true);
}

void check_autocast(const JsonValue& config) {
  expect_section(config, "torch_autocast");
  if (const JsonValue* found = value_at(config, "torch_autocast.dtype")) {
    const auto* text = found->get<std::string>();
    std::string word = text == nullptr ? "" : *text;
    if (word.starts_with("torch.")) word = word.substr(6);
    constexpr std::array<std::string_view, 9> words = {
        "fp16", "float16", "half", "fp32", "float32", "float", "int8", "bf16", "bfloat16"};
    if (std::find(words.begin(), words.end(), word) == words.end())
      refuse_untyped(ErrorKind::value_error, "torch_autocast.dtype", "a known dtype", *found);
  }
  const std::string modules = "torch_autocast.lower_precision_safe_modules";
  if (const JsonValue* found = value_at(config, modules)) {
    const auto* list = found->get<JsonValue::List>();
    if (list == nullptr) return;
    for (const JsonValue& name : *list)
      if (name.get<std::string>() == nullptr)
        refuse_untyped(ErrorKind::value_error, modules, "a list of texts", *found);
  }
}

void check_data_efficiency(const JsonValue& config) {
  for (const char* path :
       {"data_efficiency", "data_efficiency.data_sampling", "data_efficiency.data_routing",
        "data_efficiency.data_sampling.curriculum_learning",
        "data_efficiency.data_sampling.dynamic_batching",
        "data_efficiency.data_routing.random_ltd"})
    expect_section(config, path);
  const std::string sampling = "data_efficiency.data_sampling.";
  for (auto [part, needed] : {std::pair("curriculum_learning", "curriculum_metrics"),
                              std::pair("dynamic_batching", "max_tokens")}) {
    const JsonValue* enabled = value_at(config, sampling + part + ".enabled");
    if (enabled != nullptr && is_truthy(*enabled) &&
        value_at(config, sampling + part + "." + needed) == nullptr)
      raise(ErrorKind::assertion_error, untyped_source, "{}{}.{}: expected a value, got none",
            sampling, part, needed);
  }
}

void check_data_types(const JsonValue& config) {
  expect_section(config, "data_types");
  const std::string modules = "data_types.keep_in_fp32_modules";
  const JsonValue* found = value_at(config, modules);
  if (found == nullptr || found->is_text("auto")) return;
  const auto* list = found->get<JsonValue::List>();
  bool holds = list != nullptr;
  for (std::size_t i = 0; holds && i < list->size(); ++i)
    holds = (*list)[i].get<std::string>() != nullptr;
  if (!holds)
    refuse_untyped(ErrorKind::value_error, modules, "\"auto\" or a list of texts", *found);
}

// Raises where Python's operators | and % do.
void check_printing(const JsonValue& config) {
  expect_section(config, "flops_profiler");
  for (const char* path : {"wall_clock_breakdown", "flops_profiler.enabled"})
    if (const JsonValue* found = value_at(config, path);
        found != nullptr && found->get<bool>() == nullptr && found->get<std::int64_t>() == nullptr)
      refuse_untyped(ErrorKind::type_error, path, "true or false", *found);
  if (const JsonValue* found = config.find("vocabulary_size");
      found != nullptr && is_truthy(*found) && !is_python_number(*found))
    refuse_untyped(ErrorKind::type_error, "vocabulary_size", "an integer", *found);
}

void check_sequence_parallel(const JsonValue& config) {
  const JsonValue* found = config.find("sequence_parallel_size");
  if (found == nullptr) return;
  if (!is_python_number(*found))
    refuse_untyped(ErrorKind::type_error, "sequence_parallel_size", "a number", *found);
  if (!is_truthy(*found))
    refuse_untyped(ErrorKind::zero_division_error, "sequence_parallel_size", "at least 1", *found);
}

void check_parts(const JsonValue& config) {
  for (const char* name : {"pipeline", "activation_checkpointing", "autotuning"})
    expect_section(config, name);
  for (const char* path : {"autotuning.results_dir", "autotuning.exps_dir"})
    if (const JsonValue* found = value_at(config, path); found != nullptr && !is_truthy(*found))
      refuse_untyped(ErrorKind::assertion_error, path, "a folder", *found);
  if (const JsonValue* found = config.find("timers"); found != nullptr && !is_object(*found) &&
                                                      found->get<std::string>() == nullptr &&
                                                      found->get<JsonValue::List>() == nullptr)
    refuse_untyped(ErrorKind::type_error, "timers", "an object", *found);
  if (const JsonValue* found = config.find("expert_parallel"); found && is_truthy(*found)) {
    expect_section(config, "expert_parallel");
    if (const JsonValue* coefficient = found->find("load_balance_coeff");
        coefficient != nullptr && !coefficient->is_null())
      refuse_untyped(ErrorKind::value_error, "expert_parallel.load_balance_coeff", "null",
                     *coefficient);
  }
  if (const JsonValue* found = config.find("aio"); found != nullptr && !found->is_null()) {
    expect_section(config, "aio");
    if (const JsonValue* direct = found->find("use_gds"); direct && is_truthy(*direct))
      refuse_untyped(ErrorKind::assertion_error, "aio.use_gds", "false without a GPU", *direct);
  }
}

}  // namespace

bool is_truthy(const JsonValue& value) {
  if (const auto* flag = value.get<bool>()) return *flag;
  if (const auto* integer = value.get<std::int64_t>()) return *integer != 0;
  if (const auto* number = value.get<double>()) return *number != 0;
  if (const auto* text = value.get<std::string>()) return !text->empty();
  if (const auto* list = value.get<JsonValue::List>()) return !list->empty();
  if (const auto* object = value.get<JsonValue::Object>()) return !object->empty();
  return false;
}

void check_untyped_sections(const JsonValue& config) {
  check_sequence_parallel(config);
  std::optional<DType> unused;
  if (const JsonValue* found = config.find("seq_parallel_communication_data_type"))
    read_plain({*found, "seq_parallel_communication_data_type"}, unused);
  check_autocast(config);
  for (const char* name : {"optimizer", "scheduler"}) expect_section(config, name);
  check_printing(config);
  check_parts(config);
  check_data_efficiency(config);
  check_checkpoint(config);
  check_data_types(config);
}

void read_plain(const ConfigValue& value, std::optional<std::int64_t>& out) {
  out.reset();
  if (value.json.is_null()) return;
  const auto* number = value.json.get<double>();
  if (!is_python_number(value.json) || (number != nullptr && *number != std::floor(*number)))
    refuse_untyped(ErrorKind::type_error, value.path, "an integer", value.json);
  read_value(value, {}, out.emplace());
}

void read_plain(const ConfigValue& value, double& out) {
  if (!is_python_number(value.json))
    refuse_untyped(ErrorKind::type_error, value.path, "a number", value.json);
  read_value(value, {}, out);
}

void read_plain(const ConfigValue& value, bool& out) {
  if (!is_python_number(value.json))
    refuse_untyped(ErrorKind::type_error, value.path, "true or false", value.json);
  read_value(value, {}, out);
}

void read_plain(const ConfigValue& value, std::optional<DType>& out) {
  out.reset();
  if (value.json.is_null()) return;
  const auto* text = value.json.get<std::string>();
  if (text == nullptr)
    refuse_untyped(ErrorKind::attribute_error, value.path, "'fp32', 'fp16' or 'bf16'", value.json);
  std::string word = *text;
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  if (word != "fp32" && word != "fp16" && word != "bf16")
    refuse_untyped(ErrorKind::value_error, value.path, "'fp32', 'fp16' or 'bf16'", value.json);
  read_value({JsonValue(word), value.path}, {}, out.emplace());
}

}  // namespace simmesh::zero
