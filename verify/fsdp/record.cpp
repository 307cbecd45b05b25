#include "verify/fsdp/record.h"

#include <algorithm>
#include <fmt/format.h>

namespace simmesh {

Schema events_schema() {
  using namespace schema;
  return list(list(either({any_text(), integer()}), {.min = 1}));
}

std::vector<fsdp::EventFields> read_events(const CaseField& field) {
  std::vector<fsdp::EventFields> events;
  for (const CaseField& entry : field.items()) {
    fsdp::EventFields fields;
    for (const CaseField& value : entry.items()) {
      if (value.is_text())
        fields.emplace_back(value.text());
      else
        fields.emplace_back(value.integer());
    }
    events.push_back(std::move(fields));
  }
  return events;
}

void expect_events(CaseReport& report, const std::string& who,
                   const std::vector<fsdp::EventFields>& expected,
                   const std::vector<fsdp::EventFields>& actual) {
  if (expected == actual) return;
  std::size_t same = 0;
  while (same < expected.size() && same < actual.size() && expected[same] == actual[same]) ++same;
  auto text = [same](const std::vector<fsdp::EventFields>& events) {
    return same < events.size() ? fsdp::to_string(events[same]) : std::string("no further event");
  };
  report.mismatch(fmt::format("{}: event {}: expected {}, got {}; the event before it is {}", who,
                              same, text(expected), text(actual),
                              same > 0 ? fsdp::to_string(actual[same - 1]) : "none"));
}

}  // namespace simmesh
