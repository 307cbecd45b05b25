#include "replay/read/trace_form.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/check/check.h"
#include "replay/read/json_keys.h"

namespace simmesh::replay {

namespace {

constexpr std::size_t looked_bytes_max = std::size_t(64) << 20;

// The keys whose lists make a file what it is.
constexpr std::array<std::pair<std::string_view, TraceForm>, 3> list_keys = {{
    {"nodes", TraceForm::execution_trace},
    {"traceEvents", TraceForm::timeline},
    {"workload_graph", TraceForm::chakra_json},
}};

// The keys that tell the form of a file which lacks such a list.
constexpr std::array<std::pair<std::string_view, TraceForm>, 8> telling_keys = {{
    {"schema", TraceForm::execution_trace},
    {"nodes", TraceForm::execution_trace},
    {"workload_graph", TraceForm::chakra_json},
    {"schemaVersion", TraceForm::timeline},
    {"deviceProperties", TraceForm::timeline},
    {"displayTimeUnit", TraceForm::timeline},
    {"distributedInfo", TraceForm::timeline},
    {"traceEvents", TraceForm::timeline},
}};

// The form of a file, and whether more of it may change that.
struct GuessedForm {
  TraceForm form = TraceForm::unknown;
  bool is_final = false;
};

// A message begins with its length and then the tag of its first field: 0x0A for the version in the
// metadata, 0x12 for its first attribute if there is no version, 0x08 for a node's id. Metadata
// without contents is a message without bytes.
bool begins_with_message(std::string_view head) {
  if (head.starts_with('\0')) head.remove_prefix(1);
  std::size_t at = 0;
  while (at < head.size() && at < 5 && (head[at] & 0x80) != 0) ++at;
  if (at + 1 >= head.size()) return false;
  return head[at + 1] == 0x0A || head[at + 1] == 0x12 || head[at + 1] == 0x08;
}

bool is_event(const JsonKeys& keys) {
  return std::any_of(keys.keys.begin(), keys.keys.end(),
                     [](const JsonKey& key) { return key.name == "ph"; });
}

GuessedForm form_of_list(const JsonKeys& keys) {
  if (is_event(keys)) return {TraceForm::timeline, true};
  if (keys.end == JsonKeys::End::whole) return {TraceForm::other_json, true};
  return {TraceForm::unknown, keys.end == JsonKeys::End::not_json};
}

GuessedForm guess_form(std::string_view head) {
  JsonKeys keys = json_keys(head);
  // The length of a message may be the byte of a bracket.
  if (keys.end == JsonKeys::End::not_json && keys.keys.empty())
    return {begins_with_message(head) ? TraceForm::chakra : TraceForm::unknown, true};
  if (keys.is_list) return form_of_list(keys);
  for (const JsonKey& key : keys.keys)
    for (auto [known, form] : list_keys)
      if (key.name == known && key.value == '[') return {form, true};
  bool is_final = keys.end != JsonKeys::End::cut;
  for (const JsonKey& key : keys.keys)
    for (auto [known, form] : telling_keys)
      if (key.name == known) return {form, is_final};
  return {keys.end == JsonKeys::End::whole ? TraceForm::other_json : TraceForm::unknown, is_final};
}

}  // namespace

std::string_view to_string(TraceForm form) {
  switch (form) {
    case TraceForm::execution_trace: return "an execution trace";
    case TraceForm::timeline: return "a timeline";
    case TraceForm::chakra_json: return "a Chakra trace as JSON";
    case TraceForm::chakra: return "a Chakra trace";
    case TraceForm::other_json: return "JSON of another kind";
    case TraceForm::unknown: return "something else";
  }
  SIMMESH_CHECK(false, "unknown TraceForm {}", int(form));
}

TraceForm form_of(std::string_view head) { return guess_form(head).form; }

TraceForm form_of(ByteSource& source) {
  for (std::size_t bytes = 4096;; bytes *= 4) {
    std::string_view head = source.head(bytes);
    GuessedForm guessed = guess_form(head);
    if (guessed.is_final || head.size() < bytes || bytes >= looked_bytes_max) return guessed.form;
  }
}

bool is_of_form(ByteSource& source, std::string_view path, std::initializer_list<TraceForm> forms) {
  std::string_view name = source.name();
  bool is_named = name == path;
  if (name.ends_with(".gz")) name.remove_suffix(3);
  if (!is_named && !name.ends_with(".json") && !name.ends_with(".et")) return false;
  return std::find(forms.begin(), forms.end(), form_of(source)) != forms.end();
}

}  // namespace simmesh::replay
