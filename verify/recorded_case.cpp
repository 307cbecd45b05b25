#include "verify/recorded_case.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "verify/json_text.h"

namespace simmesh {

using nlohmann::json;

struct CaseDocument {
  json value;
  CasePlace place;
  std::string text;  // empty where the case has none of its own
};

namespace {

// A list of dims, sizes or names has at most this many entries.
constexpr std::size_t short_list_max = 64;

// Kinds and ids are part of output lines, so they must not break them.
std::string printable(const CaseField& field) {
  std::string text = field.text();
  bool clean = std::none_of(text.begin(), text.end(), [](char letter) {
    return (letter >= 0 && letter < 32) || letter == 127;
  });
  if (text.empty() || !clean) field.reject("a string of one or more printable characters");
  return text;
}

// Returns whether the value is the wanted one or contains it, and then the names and indices that
// lead there.
bool find_path(const json& value, const json* wanted, std::string& path) {
  if (&value == wanted) return true;
  std::size_t index = 0;
  auto leads_there = [&](const json& entry, std::string_view name) {
    std::string below;
    if (!find_path(entry, wanted, below)) return false;
    path = below.empty() ? std::string(name) : fmt::format("{}.{}", name, below);
    return true;
  };
  if (value.is_object())
    return std::any_of(value.items().begin(), value.items().end(),
                       [&](const auto& item) { return leads_there(item.value(), item.key()); });
  return value.is_array() && std::any_of(value.begin(), value.end(), [&](const json& entry) {
           return leads_there(entry, std::to_string(index++));
         });
}

}  // namespace

std::string CaseField::path() const {
  std::string path;
  find_path(document_->value, value_, path);
  return path;
}

void CaseField::reject(std::string_view expected) const {
  std::string place = path();
  throw BadCase(to_string(document_->place),
                fmt::format("{}: expected {}, got {}",
                            place.empty() ? "the case" : fmt::format("field '{}'", place), expected,
                            shown(*value_)));
}

std::optional<CaseField> CaseField::find(std::string_view name) const {
  if (!value_->is_object()) reject("an object");
  auto found = value_->find(name);
  if (found == value_->end()) return std::nullopt;
  return CaseField(*found, *document_);
}

CaseField CaseField::operator[](std::string_view name) const {
  std::optional<CaseField> field = find(name);
  if (!field) reject(fmt::format("a field '{}'", name));
  return *field;
}

std::vector<std::string> CaseField::keys() const {
  if (!value_->is_object()) reject("an object");
  std::vector<std::string> keys;
  for (const auto& [key, value] : value_->items()) keys.push_back(key);
  return keys;
}

std::size_t CaseField::size() const { return value_->size(); }

std::vector<CaseField> CaseField::items() const {
  return items(std::numeric_limits<std::size_t>::max());
}

std::vector<CaseField> CaseField::items(std::size_t count_max) const {
  if (!value_->is_array()) reject("a list");
  if (value_->size() > count_max) reject(fmt::format("a list of at most {} entries", count_max));
  std::vector<CaseField> items;
  items.reserve(value_->size());
  for (const json& item : *value_) items.emplace_back(item, *document_);
  return items;
}

bool CaseField::is_null() const { return value_->is_null(); }
bool CaseField::is_text() const { return value_->is_string(); }
bool CaseField::is_list() const { return value_->is_array(); }
bool CaseField::is_object() const { return value_->is_object(); }
bool CaseField::is_boolean() const { return value_->is_boolean(); }
bool CaseField::is_integer() const { return value_->is_number_integer(); }
bool CaseField::is_number() const { return value_->is_number(); }

std::string CaseField::text() const {
  if (!value_->is_string()) reject("a string");
  return value_->get<std::string>();
}

bool CaseField::boolean() const {
  if (!value_->is_boolean()) reject("true or false");
  return value_->get<bool>();
}

double CaseField::number() const {
  if (!value_->is_number()) reject("a number");
  return value_->get<double>();
}

std::int64_t CaseField::integer() const {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value_->is_number_integer() ||
      (value_->is_number_unsigned() && value_->get<std::uint64_t>() > largest))
    reject("an integer below 2^63");
  return value_->get<std::int64_t>();
}

std::int64_t CaseField::integer(Range range) const {
  std::int64_t value = integer();
  if (value < range.min || value > range.max)
    reject(fmt::format("an integer in {} .. {}", range.min, range.max));
  return value;
}

std::uint64_t CaseField::unsigned64() const {
  if (!value_->is_number_unsigned()) reject("an integer in 0 .. 2^64-1");
  return value_->get<std::uint64_t>();
}

std::vector<std::int64_t> CaseField::integers() const {
  std::vector<std::int64_t> integers;
  for (const CaseField& item : items()) integers.push_back(item.integer());
  return integers;
}

Dims CaseField::dims() const {
  Dims dims;
  for (const CaseField& item : items(short_list_max)) dims.push_back(item.integer());
  return dims;
}

std::vector<std::string> CaseField::texts() const {
  std::vector<std::string> texts;
  for (const CaseField& item : items(short_list_max)) texts.push_back(item.text());
  return texts;
}

Shape CaseField::shape() const {
  Shape sizes = dims();
  std::int64_t count = 1;
  bool fits = true;
  for (std::int64_t size : sizes)
    fits &= size >= 0 && !__builtin_mul_overflow(count, std::max<std::int64_t>(size, 1), &count);
  if (!fits) reject("sizes of at least 0 that multiply to fewer than 2^63");
  return sizes;
}

RecordedCase RecordedCase::parse(std::string_view text, CasePlace place) {
  JsonScan scan = scan_json(text);
  if (!scan.ok) {
    std::size_t offset = std::min(scan.fault_offset.value_or(0), text.size());
    place.line +=
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
    throw BadCase(to_string(place),
                  fmt::format("expected a case as one JSON object, got {}{}", scan.fault,
                              scan.fault_offset ? fmt::format(" at byte {}", offset) : ""));
  }
  return RecordedCase(std::make_shared<const CaseDocument>(
      CaseDocument{parse_json(text), std::move(place), std::string(text)}));
}

RecordedCase::RecordedCase(std::shared_ptr<const CaseDocument> document)
    : document_(std::move(document)) {
  kind_ = printable(root()["kind"]);
  id_ = printable(root()["id"]);
}

RecordedCase RecordedCase::with_value(json value) const {
  return RecordedCase(
      std::make_shared<const CaseDocument>(CaseDocument{std::move(value), place(), ""}));
}

const CasePlace& RecordedCase::place() const { return document_->place; }

std::vector<std::string> RecordedCase::keys_in_order(const std::string& field) const {
  std::vector<std::string> keys;
  const CaseDocument& document = *document_;
  auto whole =
      nlohmann::ordered_json::parse(document.text.empty() ? document.value.dump() : document.text);
  for (const auto& entry : whole.at(field).items()) keys.push_back(entry.key());
  return keys;
}

CaseField RecordedCase::root() const { return {document_->value, *document_}; }

}  // namespace simmesh
