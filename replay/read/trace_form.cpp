#include "replay/read/trace_form.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/check/check.h"

namespace simmesh::replay {

namespace {

// The keys near the beginning of each form that no other form has.
constexpr std::array<std::pair<std::string_view, TraceForm>, 8> telling_keys = {{
    {"\"schema\"", TraceForm::execution_trace},
    {"\"nodes\"", TraceForm::execution_trace},
    {"\"workload_graph\"", TraceForm::chakra_json},
    {"\"schemaVersion\"", TraceForm::timeline},
    {"\"deviceProperties\"", TraceForm::timeline},
    {"\"displayTimeUnit\"", TraceForm::timeline},
    {"\"distributedInfo\"", TraceForm::timeline},
    {"\"traceEvents\"", TraceForm::timeline},
}};

// A message begins with its length and then the tag of its first field: 0x0A for the version in the
// metadata, 0x12 for its first attribute if there is no version, 0x08 for a node's id.
bool begins_with_message(std::string_view head) {
  std::size_t at = 0;
  while (at < head.size() && at < 5 && (head[at] & 0x80) != 0) ++at;
  if (at + 1 >= head.size()) return false;
  return head[at + 1] == 0x0A || head[at + 1] == 0x12 || head[at + 1] == 0x08;
}

}  // namespace

std::string_view to_string(TraceForm form) {
  switch (form) {
    case TraceForm::execution_trace: return "an execution trace";
    case TraceForm::timeline: return "a timeline";
    case TraceForm::chakra_json: return "a Chakra trace as JSON";
    case TraceForm::chakra: return "a Chakra trace";
    case TraceForm::unknown: return "something else";
  }
  SIMMESH_CHECK(false, "unknown TraceForm {}", int(form));
}

TraceForm form_of(std::string_view head) {
  std::size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return TraceForm::unknown;
  if (head[begin] != '{') return begins_with_message(head) ? TraceForm::chakra : TraceForm::unknown;
  TraceForm form = TraceForm::unknown;
  std::size_t first = std::string_view::npos;
  for (auto [key, of_key] : telling_keys) {
    std::size_t place = head.find(key);
    if (place >= first) continue;
    first = place;
    form = of_key;
  }
  return form;
}

bool is_of_form(ByteSource& source, std::string_view path, std::initializer_list<TraceForm> forms) {
  if (source.name() == path) return true;
  std::string_view name = source.name();
  if (name.ends_with(".gz")) name.remove_suffix(3);
  return name.ends_with(".json") &&
         std::find(forms.begin(), forms.end(), form_of(source.head())) != forms.end();
}

}  // namespace simmesh::replay
