#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replay/trace/finding.h"

namespace simmesh::replay {

// FindingPlace is the place of a finding: a rank, a node of it, a field of that node.
struct FindingPlace {
  std::optional<std::int64_t> rank = std::nullopt;
  std::optional<std::int64_t> node = std::nullopt;  // id
  std::string_view field = {};
};

// error_at returns an error about a place.
inline Finding error_at(std::string_view rule, const FindingPlace& place, std::string message) {
  return {.severity = Severity::error,
          .rule = std::string(rule),
          .rank = place.rank,
          .node = place.node,
          .field = std::string(place.field),
          .message = std::move(message)};
}

// warning_at returns a warning about a place.
inline Finding warning_at(std::string_view rule, const FindingPlace& place, std::string message) {
  Finding finding = error_at(rule, place, std::move(message));
  finding.severity = Severity::warning;
  return finding;
}

// note_at returns a note about a place.
inline Finding note_at(std::string_view rule, const FindingPlace& place, std::string message) {
  Finding finding = error_at(rule, place, std::move(message));
  finding.severity = Severity::note;
  return finding;
}

}  // namespace simmesh::replay
