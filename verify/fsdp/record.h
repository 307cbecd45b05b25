#pragma once

#include <string>
#include <vector>

#include "fsdp/state/event_fields.h"
#include "verify/case_report.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// StepEvents are the events of each step of a program, on one rank.
using StepEvents = std::vector<std::vector<fsdp::EventFields>>;

// events_schema is a list of events.
Schema events_schema();

// read_events reads a list of events, lists of texts and integers.
std::vector<fsdp::EventFields> read_events(const CaseField& field);

// expect_events adds a mismatch that names the first event that differs, with the one before it.
void expect_events(CaseReport& report, const std::string& who,
                   const std::vector<fsdp::EventFields>& expected,
                   const std::vector<fsdp::EventFields>& actual);

}  // namespace simmesh
