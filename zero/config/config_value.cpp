#include "zero/config/config_value.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "core/check/error.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view value_source = "zero/config";

[[noreturn]] void refuse(const ConfigValue& value, std::string_view expected) {
  raise(ErrorKind::value_error, value_source, "{}: expected {}, got {}", value.path, expected,
        value.json.text(80));
}

template <class T>
void check_bounds(const ConfigValue& value, const ConfigBounds& bounds, T number) {
  bool holds = bounds.is_open ? double(number) > bounds.min : double(number) >= bounds.min;
  if (!holds)
    refuse(value,
           fmt::format("a number {} {}",
                       bounds.is_open ? "greater than" : "greater than or equal to", bounds.min));
  if (bounds.is_open ? double(number) >= bounds.max && std::isfinite(bounds.max)
                     : double(number) > bounds.max)
    refuse(value, fmt::format("a number {} {}",
                              bounds.is_open ? "less than" : "less than or equal to", bounds.max));
}

std::string trimmed(const std::string& text) {
  auto begin = text.find_first_not_of(" \t\n\r"), end = text.find_last_not_of(" \t\n\r");
  return begin == text.npos ? std::string() : text.substr(begin, end - begin + 1);
}

std::string lowercase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

// Digits may be grouped by single underscores, and zeros may follow a point.
std::string integer_digits(const std::string& given) {
  std::string text = trimmed(given);
  if (auto point = text.find('.'); point != text.npos && point != 0 && point + 1 < text.size() &&
                                   text.find_first_not_of('0', point + 1) == text.npos)
    text.resize(point);
  for (std::size_t i = 1; i + 1 < text.size(); ++i)
    if (text[i] == '_' && std::isdigit(static_cast<unsigned char>(text[i - 1])) &&
        std::isdigit(static_cast<unsigned char>(text[i + 1])))
      text.erase(i, 1);
  return text;
}

std::int64_t integer_of_text(const ConfigValue& value, const std::string& given) {
  std::string text = integer_digits(given);
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  std::int64_t number = 0;
  auto [last, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || last != end)
    refuse(value, "a valid integer, unable to parse string as an integer");
  return number;
}

std::int64_t integer_of_double(const ConfigValue& value, double number) {
  if (!(std::abs(number) < 0x1p63)) refuse(value, "an integer of 64 bits");
  if (number != std::floor(number))
    refuse(value, "a valid integer, got a number with a fractional part");
  return std::int64_t(number);
}

}  // namespace

void expect_object(const ConfigValue& value) {
  if (value.json.get<JsonValue::Object>() == nullptr)
    raise(ErrorKind::type_error, value_source, "{}: expected an object, got {}", value.path,
          value.json.text(80));
}

void read_value(const ConfigValue& value, const ConfigBounds& bounds, std::int64_t& out) {
  const JsonValue& json = value.json;
  if (const auto* flag = json.get<bool>())
    out = *flag ? 1 : 0;
  else if (const auto* integer = json.get<std::int64_t>())
    out = *integer;
  else if (const auto* number = json.get<double>())
    out = integer_of_double(value, *number);
  else if (const auto* text = json.get<std::string>())
    out = integer_of_text(value, *text);
  else
    refuse(value, "a valid integer");
  check_bounds(value, bounds, out);
}

void read_value(const ConfigValue& value, const ConfigBounds& bounds, double& out) {
  const JsonValue& json = value.json;
  if (const auto* flag = json.get<bool>()) {
    out = *flag ? 1 : 0;
  } else if (const auto* integer = json.get<std::int64_t>()) {
    out = double(*integer);
  } else if (const auto* number = json.get<double>()) {
    out = *number;
  } else if (const auto* given = json.get<std::string>()) {
    std::string text = trimmed(*given);
    auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || last != text.data() + text.size())
      refuse(value, "a valid number, unable to parse string as a number");
  } else {
    refuse(value, "a valid number");
  }
  if (!std::isfinite(out)) refuse(value, "a finite number");
  check_bounds(value, bounds, out);
}

void read_value(const ConfigValue& value, const ConfigBounds&, bool& out) {
  const JsonValue& json = value.json;
  std::string word;
  if (const auto* flag = json.get<bool>())
    word = *flag ? "true" : "false";
  else if (const auto* integer = json.get<std::int64_t>())
    word = fmt::format("{}", *integer);
  else if (const auto* number = json.get<double>())
    word = *number == 0 ? "0" : *number == 1 ? "1" : "";
  else if (const auto* text = json.get<std::string>())
    word = lowercase(*text);
  constexpr std::array<std::string_view, 6> yes = {"1", "on", "t", "true", "y", "yes"};
  constexpr std::array<std::string_view, 6> no = {"0", "off", "f", "false", "n", "no"};
  out = std::find(yes.begin(), yes.end(), word) != yes.end();
  if (!out && std::find(no.begin(), no.end(), word) == no.end())
    refuse(value, "a valid boolean, unable to interpret input");
}

void read_value(const ConfigValue& value, const ConfigBounds&, std::string& out) {
  const auto* text = value.json.get<std::string>();
  if (text == nullptr) refuse(value, "a valid string");
  out = *text;
}

void read_value(const ConfigValue& value, const ConfigBounds&, DType& out) {
  const auto* text = value.json.get<std::string>();
  std::string word = text == nullptr ? "" : lowercase(*text);
  if (word.starts_with("torch.")) word = word.substr(6);
  if (word == "fp32" || word == "float32" || word == "float")
    out = DType::float32;
  else if (word == "fp16" || word == "float16" || word == "half")
    out = DType::float16;
  else if (word == "bf16" || word == "bfp16" || word == "bfloat16")
    out = DType::bfloat16;
  else
    refuse(value, "'fp32', 'fp16' or 'bf16'");
}

void read_value(const ConfigValue& value, const ConfigBounds&, OffloadDevice& out) {
  for (OffloadDevice device : {OffloadDevice::none, OffloadDevice::cpu, OffloadDevice::nvme})
    if (value.json.is_text(*written(device).get<std::string>())) {
      out = device;
      return;
    }
  refuse(value, "'none', 'cpu' or 'nvme'");
}

void read_value(const ConfigValue& value, const ConfigBounds&, WarmupType& out) {
  if (!value.json.is_text("log") && !value.json.is_text("linear"))
    refuse(value, "'log' or 'linear'");
  out = value.json.is_text("log") ? WarmupType::log : WarmupType::linear;
}

void read_value(const ConfigValue& value, const ConfigBounds& bounds, PerGroup& out) {
  const auto* list = value.json.get<JsonValue::List>();
  if (list == nullptr) return read_value(value, bounds, out.emplace<double>());
  auto& numbers = out.emplace<std::vector<double>>(list->size());
  for (std::size_t i = 0; i < list->size(); ++i)
    read_value({(*list)[i], fmt::format("{}[{}]", value.path, i)}, bounds, numbers[i]);
}

void read_value(const ConfigValue& value, const ConfigBounds& bounds, std::array<double, 2>& out) {
  const auto* list = value.json.get<JsonValue::List>();
  if (list == nullptr || list->size() != 2) refuse(value, "a list of two numbers");
  for (std::size_t i = 0; i < 2; ++i)
    read_value({(*list)[i], fmt::format("{}[{}]", value.path, i)}, bounds, out[i]);
}

void read_value(const ConfigValue& value, const ConfigBounds& bounds,
                std::vector<std::int64_t>& out) {
  const auto* list = value.json.get<JsonValue::List>();
  if (list == nullptr) refuse(value, "a list of integers");
  out.resize(list->size());
  for (std::size_t i = 0; i < list->size(); ++i)
    read_value({(*list)[i], fmt::format("{}[{}]", value.path, i)}, bounds, out[i]);
}

void read_value(const ConfigValue& value, const ConfigBounds& bounds,
                std::vector<std::string>& out) {
  out.clear();
  if (const auto* text = value.json.get<std::string>()) {
    out.push_back(*text);
    return;
  }
  const auto* list = value.json.get<JsonValue::List>();
  if (list == nullptr) refuse(value, "a list of strings");
  for (std::size_t i = 0; i < list->size(); ++i)
    read_value({(*list)[i], fmt::format("{}[{}]", value.path, i)}, bounds, out.emplace_back());
}

JsonValue written(std::int64_t value) { return JsonValue(value); }
JsonValue written(double value) { return JsonValue(value); }
JsonValue written(bool value) { return JsonValue(value); }
JsonValue written(const std::string& value) { return JsonValue(value); }

JsonValue written(DType value) {
  return JsonValue(value == DType::float32 ? "fp32" : value == DType::float16 ? "fp16" : "bf16");
}

JsonValue written(OffloadDevice value) {
  return JsonValue(value == OffloadDevice::none  ? "none"
                   : value == OffloadDevice::cpu ? "cpu"
                                                 : "nvme");
}

JsonValue written(WarmupType value) {
  return JsonValue(value == WarmupType::log ? "log" : "linear");
}

JsonValue written(const PerGroup& value) {
  if (const auto* number = std::get_if<double>(&value)) return JsonValue(*number);
  JsonValue::List list;
  for (double number : std::get<std::vector<double>>(value)) list.push_back(JsonValue(number));
  return {std::move(list)};
}

JsonValue written(const std::array<double, 2>& value) {
  return {JsonValue::List{JsonValue(value[0]), JsonValue(value[1])}};
}

JsonValue written(const std::vector<std::int64_t>& value) {
  JsonValue::List list;
  for (std::int64_t number : value) list.push_back(JsonValue(number));
  return {std::move(list)};
}

JsonValue written(const std::vector<std::string>& value) {
  JsonValue::List list;
  for (const std::string& text : value) list.push_back(JsonValue(text));
  return {std::move(list)};
}

}  // namespace simmesh::zero
