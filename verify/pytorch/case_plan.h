#pragma once

#include <string>
#include <vector>

#include "sharding/planner.h"
#include "verify/case_report.h"
#include "verify/recorded_case.h"

namespace simmesh {

// read_placements reads a list of placements as texts.
Placements read_placements(const CaseField& field);

// read_planners returns the planners that a case names: "greedy", "graph", or "both".
std::vector<PlannerChoice> read_planners(const CaseField& field);

// read_plan_request reads what a redistribution or plan case asks for, without the planner. Throws
// a BadCase for fields of another type and a ValueError for what makes no sense.
PlanRequest read_plan_request(const RecordedCase& recorded);

// expect_steps compares a plan with the recorded steps, field for field.
void expect_steps(CaseReport& report, const std::string& who, const CaseField& steps,
                  const Plan& plan);

}  // namespace simmesh
