#pragma once

#include <string>
#include <vector>

#include "sharding/redistribute/planner.h"
#include "verify/case_report.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"
#include "verify/verify_options.h"

namespace simmesh {

// plan_fields are the fields of a plan's request, with the tensor's own schema.
schema::Fields plan_fields(Schema tensor);

// steps_schema is a list of recorded steps; placements_schema a list of placements.
Schema steps_schema();
Schema placements_schema();

// read_placements reads a list of placements as texts.
Placements read_placements(const CaseField& field);

// require_pieces raises a BadCase where finding the ranks' pieces of strided shards takes too long.
void require_pieces(const RecordedCase& recorded, std::int64_t ranks);

// read_planners returns the planners that a case names: "greedy", "graph", or "both".
std::vector<PlannerChoice> read_planners(const CaseField& field);

// read_plan_request reads the request of a redistribution or plan case, without the planner, under
// the release of the options. Raises a ValueError for orders that make no sense.
PlanRequest read_plan_request(const RecordedCase& recorded, const VerifyOptions& options);

// expect_steps compares a plan with the recorded steps, field for field.
void expect_steps(CaseReport& report, const std::string& who, const CaseField& steps,
                  const Plan& plan);

}  // namespace simmesh
