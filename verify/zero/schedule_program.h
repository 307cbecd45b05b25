#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "verify/case_report.h"
#include "verify/zero/schedule_case.h"

namespace simmesh {

// ScheduleEvents are events in the form of tests/cases/zero/README.md: ["fetch_end", 1, 0, ...].
using ScheduleEvents = std::vector<nlohmann::json>;

// is_driving is true for an event that drives a replay; a replay must produce all others.
bool is_driving(const nlohmann::json& event);

// check_schedule_program compares the driving events of a recorded schedule with the run that its
// meta describes, since a replay takes them as they are: every iteration has its number, its one
// reset, calls of modules that end in the order opposite to that of their begin, and, if it trains,
// one gradient of a trainable parameter, the end of the backward pass and a step; every gas-th step
// releases everything. The events end with END, or with the EXCEPTION that stops an iteration.
// A backward pass recomputes all forward calls of a module, or none. Iterations with the same calls
// of modules have them in the same passes.
// Gradients that become ready between the same two calls have one order in all iterations, and a
// parameter whose module runs has a gradient in all of them or in none. Adds the first mismatch.
void check_schedule_program(const ScheduleCase& schedule, const ScheduleEvents& events,
                            CaseReport& report);

}  // namespace simmesh
