#include "checkpoint/torch_file/library_values.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>

#include "checkpoint/catalog/tagged_value.h"
#include "checkpoint/torch_file/torch_types.h"

namespace simmesh::checkpoint {

namespace {

using Kind = PickleNode::Kind;
using Arguments = std::vector<PickleValue>;

bool has_bytes(PickleValue value, std::size_t count) {
  return (value->kind == Kind::bytes || value->kind == Kind::text) && value->text.size() == count;
}

unsigned byte_at(PickleValue value, std::size_t at) { return std::uint8_t(value->text[at]); }

std::optional<JsonValue> parts_of(std::string_view tag, const Arguments& arguments,
                                  std::size_t count, const MakeValue& make) {
  if (arguments.size() != count) return std::nullopt;
  JsonValue::List parts;
  for (PickleValue part : arguments) {
    if (part->kind > Kind::number) return std::nullopt;
    parts.push_back(make(part));
  }
  return tagged(tag, std::move(parts));
}

// Returns "+02:00" for datetime.timezone(timedelta(...)); nullopt for another time zone.
std::optional<std::string> zone_text(PickleValue zone) {
  if (zone->kind != Kind::object || class_of(zone) != "datetime.timezone") return std::nullopt;
  const Arguments& arguments = zone->items[1]->items;
  if (arguments.empty() || arguments[0]->kind != Kind::object ||
      class_of(arguments[0]) != "datetime.timedelta")
    return std::nullopt;
  const Arguments& parts = arguments[0]->items[1]->items;
  std::int64_t seconds = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 2 || parts[i]->kind != Kind::integer || std::abs(parts[i]->integer) > 86400 ||
        (i == 2 && parts[i]->integer != 0))
      return std::nullopt;
    if (i < 2) seconds += parts[i]->integer * (i == 0 ? 86400 : 1);
  }
  std::int64_t size = std::abs(seconds);
  if (size >= 86400) return std::nullopt;
  std::string text =
      fmt::format("{}{:02}:{:02}", seconds < 0 ? '-' : '+', size / 3600, size / 60 % 60);
  return size % 60 == 0 ? text : text + fmt::format(":{:02}", size % 60);
}

std::string date_text(PickleValue bytes) {
  return fmt::format("{:04}-{:02}-{:02}", byte_at(bytes, 0) << 8 | byte_at(bytes, 1),
                     byte_at(bytes, 2) & 0x7f, byte_at(bytes, 3));
}

std::string time_text(PickleValue bytes, std::size_t at) {
  unsigned us = byte_at(bytes, at + 3) << 16 | byte_at(bytes, at + 4) << 8 | byte_at(bytes, at + 5);
  std::string text = fmt::format("{:02}:{:02}:{:02}", byte_at(bytes, at) & 0x7f,
                                 byte_at(bytes, at + 1), byte_at(bytes, at + 2));
  return us == 0 ? text : text + fmt::format(".{:06}", us);
}

// Returns dates and times as ISO 8601 has them.
std::optional<JsonValue> moment(std::string_view name, const Arguments& arguments) {
  if (arguments.empty() || arguments.size() > 2) return std::nullopt;
  PickleValue bytes = arguments[0];
  std::string zone;
  if (arguments.size() == 2) {
    auto text = zone_text(arguments[1]);
    if (!text) return std::nullopt;
    zone = *text;
  }
  if (name == "datetime.date" && has_bytes(bytes, 4)) return JsonValue(date_text(bytes));
  if (name == "datetime.time" && has_bytes(bytes, 6)) return JsonValue(time_text(bytes, 0) + zone);
  if (name == "datetime.datetime" && has_bytes(bytes, 10))
    return JsonValue(date_text(bytes) + "T" + time_text(bytes, 4) + zone);
  return std::nullopt;
}

bool is_path(std::string_view name) {
  constexpr std::string_view names[] = {"pathlib.Path",        "pathlib.PosixPath",
                                        "pathlib.PurePath",    "pathlib.PurePosixPath",
                                        "pathlib.WindowsPath", "pathlib.PureWindowsPath"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::optional<JsonValue> path_of(std::string_view name, const Arguments& arguments) {
  char between = name.find("Windows") == name.npos ? '/' : '\\';
  std::string path;
  for (PickleValue part : arguments) {
    if (part->kind != Kind::text) return std::nullopt;
    if (!path.empty() && path.back() != between) path += between;
    path += part->text;
  }
  return JsonValue(path.empty() ? "." : path);
}

std::optional<JsonValue> device_of(const Arguments& arguments) {
  if (arguments.empty() || arguments.size() > 2 || arguments[0]->kind != Kind::text)
    return std::nullopt;
  if (arguments.size() == 1) return JsonValue(arguments[0]->text);
  if (arguments[1]->kind != Kind::integer) return std::nullopt;
  return JsonValue(fmt::format("{}:{}", arguments[0]->text, arguments[1]->integer));
}

// Returns an enum that is pickled as an attribute of its class.
std::optional<JsonValue> attribute_of(const Arguments& arguments) {
  if (arguments.size() != 2 || arguments[0]->kind != Kind::global ||
      arguments[1]->kind != Kind::text)
    return std::nullopt;
  return tagged("$instance",
                JsonValue::object({{"class", arguments[0]->text}, {"value", arguments[1]->text}}));
}

// Returns what a file in memory has, which its state begins with.
std::optional<JsonValue> content_of(PickleValue object, const MakeValue& make) {
  if (object->items.size() != 3 || object->items[2]->kind != Kind::tuple) return std::nullopt;
  const Arguments& state = object->items[2]->items;
  if (state.empty() || (state[0]->kind != Kind::bytes && state[0]->kind != Kind::text))
    return std::nullopt;
  return make(state[0]);
}

bool is_plain(PickleValue value) { return value->kind <= Kind::text; }

}  // namespace

std::optional<JsonValue> library_value(PickleValue object, const MakeValue& make) {
  std::string name = class_of(object);
  const Arguments& arguments = object->items[1]->items;
  if (name.starts_with("datetime.")) {
    if (name == "datetime.timedelta") return parts_of("$timedelta", arguments, 3, make);
    return moment(name, arguments);
  }
  if (name.starts_with("builtins.")) {
    if (name == "builtins.complex") return parts_of("$complex", arguments, 2, make);
    if (name == "builtins.range") return parts_of("$range", arguments, 3, make);
    if (name == "builtins.slice") return parts_of("$slice", arguments, 3, make);
    if (name == "builtins.getattr") return attribute_of(arguments);
  }
  if (name == "_io.BytesIO" || name == "_io.StringIO") return content_of(object, make);
  if (is_path(name)) return path_of(name, arguments);
  if (name == "torch.device") return device_of(arguments);
  bool is_written_as_text = name == "decimal.Decimal" || name == "fractions.Fraction" ||
                            name == "torch.serialization._get_layout";
  bool is_same = name == "torch.Size";
  if ((is_written_as_text || is_same) && arguments.size() == 1 &&
      (is_same || is_plain(arguments[0])))
    return make(arguments[0]);
  return std::nullopt;
}

std::optional<std::string> library_global(std::string_view name) {
  constexpr std::string_view module = "torch.";
  if (!name.starts_with(module) || !find_torch_dtype(name.substr(module.size())))
    return std::nullopt;
  return std::string(name);
}

}  // namespace simmesh::checkpoint
