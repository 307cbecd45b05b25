#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simmesh::replay {

// Severity is the meaning of a finding: an error makes a trace unfit for replay, a warning doesn't,
// and a note is about something that sound traces have too.
enum class Severity : std::uint8_t { note, warning, error };
std::string_view to_string(Severity severity);

// Finding is one observation about the traces of a job: which rule is broken, where, and how.
struct Finding {
  Severity severity = Severity::error;
  std::string rule;  // docs/trace_rules.md lists them: "split_sum"
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> node;  // id
  std::string field;                 // "in_split"; empty where no field is to blame
  std::string message;               // the expected value and the given one
};

using Findings = std::vector<Finding>;

// to_string returns "error split_sum: rank 0 node 4 in_split: ...".
std::string to_string(const Finding& finding);

// worst returns "error", "warning" or "ok"; notes are ok.
std::string_view worst(const Findings& findings);

}  // namespace simmesh::replay
