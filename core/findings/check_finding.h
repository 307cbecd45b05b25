#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/check/json_value.h"

namespace simmesh {

// CheckFinding is one thing that a check found wrong, for programs that read it: editors, code
// hosts and agents. Texts that aren't known are empty.
struct CheckFinding {
  std::string rule;                       // the check: "gate/same_as"
  std::string message;                    // what is wrong, in one line
  std::string file;                       // where it is wrong
  std::optional<std::int64_t> line = {};  // in that file, counted from 1
  std::optional<std::int64_t> rank = {};
  std::string expected = {}, got = {};
  std::string details = {};    // the report, in several lines
  std::string reproduce = {};  // the command that shows it again
};

// to_json returns a finding with all keys, null where something isn't known; check_finding_from
// reads it. Raises a ValueError for a value of another form.
JsonValue to_json(const CheckFinding& finding);
CheckFinding check_finding_from(const JsonValue& value);

// finding_from_report makes a finding of a report: its first line is the message. From its lines
// come the rule, if `rule` is empty ("[engine/deadlock] ..."), the first rank ("rank 3"), the first
// place
// ("train.py:17"), what was expected and what came ("expected 4, got 5"), and the line behind
// "reproduce: ".
CheckFinding finding_from_report(std::string rule, std::string_view report);

// expected_and_got sets both texts from a line "...: expected 4, got 5", and leaves them otherwise.
void expected_and_got(CheckFinding& finding, std::string_view line);

}  // namespace simmesh
