#pragma once

#include <string>
#include <vector>

#include "fsdp/event_fields.h"
#include "verify/case_report.h"
#include "verify/recorded_case.h"

namespace simmesh {

// StepEvents are the events of each step of a program, on one rank.
using StepEvents = std::vector<std::vector<fsdp::EventFields>>;

// read_events reads a list of events, lists of texts and integers.
std::vector<fsdp::EventFields> read_events(const CaseField& field);

// expect_events adds a mismatch that names the first event that differs, with the one before it.
void expect_events(CaseReport& report, const std::string& who,
                   const std::vector<fsdp::EventFields>& expected,
                   const std::vector<fsdp::EventFields>& actual);

// CollectiveTotals counts the collectives among events.
struct CollectiveTotals {
  std::int64_t all_gathers = 0;
  std::int64_t reduce_scatters = 0;
  std::int64_t all_reduces = 0;

  void add(const std::vector<fsdp::EventFields>& events);
  bool operator==(const CollectiveTotals&) const = default;
};
std::string to_string(const CollectiveTotals& totals);

}  // namespace simmesh
