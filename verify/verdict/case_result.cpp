#include "verify/verdict/case_result.h"

#include "core/check/hash_text.h"
#include "core/shards/job_result.h"

namespace simmesh {

namespace {

void read_hash(const JsonValue& object, std::string_view key, std::optional<std::uint64_t>& hash) {
  std::string text;
  read_member(object, key, text);
  if (text.empty()) return;
  hash = hash_from_text(text);
  if (!hash) refuse_member(object, key);
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
  if (result.data_hash) value.set("data", hash_text(*result.data_hash));
  if (result.schedule_hash) value.set("schedule", hash_text(*result.schedule_hash));
  return value;
}

CaseResult case_result_from(const JsonValue& value) {
  CaseResult result;
  read_member(value, "id", result.id);
  read_member(value, "kind", result.kind);
  if (result.kind.empty()) refuse_member(value, "kind");
  read_member(value, "file", result.place.file);
  read_member(value, "line", result.place.line);
  JsonValue::List mismatches;
  read_member(value, "mismatches", mismatches);
  for (const JsonValue& one : mismatches) {
    const auto* text = one.get<std::string>();
    if (!text) refuse_member(value, "mismatches");
    result.mismatches.push_back(*text);
  }
  read_member(value, "mismatch_count", result.mismatch_count);
  read_member(value, "reproduce", result.reproduce);
  if (value.find("cheaper")) read_member(value, "cheaper", result.cheaper.emplace());
  read_member(value, "beyond", result.is_beyond);
  read_hash(value, "data", result.data_hash);
  read_hash(value, "schedule", result.schedule_hash);
  return result;
}

}  // namespace simmesh
