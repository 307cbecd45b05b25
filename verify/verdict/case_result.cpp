#include "verify/verdict/case_result.h"

#include <charconv>
#include <fmt/format.h>

#include "core/check/error.h"

namespace simmesh {

namespace {

[[noreturn]] void refuse(std::string_view expected, const JsonValue& got) {
  raise(ErrorKind::value_error, "verify/verdict", "expected {}, got {}", expected, got.text(80));
}

// Reads a member, which stays as it is if the object has none.
template <class T>
void read(const JsonValue& object, std::string_view key, T& member) {
  const JsonValue* found = object.find(key);
  if (!found) return;
  const T* value = found->get<T>();
  if (!value) refuse(fmt::format("a result of a case under '{}'", key), object);
  member = *value;
}

void read_hash(const JsonValue& object, std::string_view key, std::optional<std::uint64_t>& hash) {
  std::string text;
  read(object, key, text);
  if (text.empty()) return;
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size())
    refuse(fmt::format("a hash under '{}'", key), object);
  hash = value;
}

}  // namespace

// Leaves out the members that a case that holds doesn't have.
JsonValue to_json(const CaseResult& result) {
  JsonValue value = JsonValue::object({{"id", result.id}, {"kind", result.kind}});
  if (result.failed()) {
    value.set("file", result.place.file);
    value.set("line", result.place.line);
    value.set("mismatches", result.mismatches);
    value.set("mismatch_count", result.mismatch_count);
    value.set("reproduce", result.reproduce);
  }
  if (result.cheaper) value.set("cheaper", *result.cheaper);
  if (result.is_beyond) value.set("beyond", true);
  if (result.data_hash) value.set("data", fmt::format("{:016x}", *result.data_hash));
  if (result.schedule_hash) value.set("schedule", fmt::format("{:016x}", *result.schedule_hash));
  return value;
}

CaseResult case_result_from(const JsonValue& value) {
  CaseResult result;
  read(value, "id", result.id);
  read(value, "kind", result.kind);
  if (result.kind.empty()) refuse("a result with the kind of its case", value);
  read(value, "file", result.place.file);
  read(value, "line", result.place.line);
  JsonValue::List mismatches;
  read(value, "mismatches", mismatches);
  for (const JsonValue& one : mismatches) {
    const auto* text = one.get<std::string>();
    if (!text) refuse("a text as mismatch", one);
    result.mismatches.push_back(*text);
  }
  read(value, "mismatch_count", result.mismatch_count);
  read(value, "reproduce", result.reproduce);
  if (value.find("cheaper")) read(value, "cheaper", result.cheaper.emplace());
  read(value, "beyond", result.is_beyond);
  read_hash(value, "data", result.data_hash);
  read_hash(value, "schedule", result.schedule_hash);
  return result;
}

}  // namespace simmesh
