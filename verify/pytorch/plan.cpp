#include <bit>
#include <fmt/format.h>

#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_number.h"
#include "verify/case_tensor.h"
#include "verify/pytorch/case_plan.h"

namespace simmesh {

namespace {

Schema plan_schema() {
  using namespace schema;
  Fields fields = plan_fields(planned_tensor_schema());
  fields.push_back(required("devices_per_host", integer({.min = 1, .max = 1 << 20})));
  fields.push_back(expected("steps", steps_schema()));
  fields.push_back(expected("cost", figure()));
  fields.push_back(expected("step_costs", list(figure())));
  return object(std::move(fields));
}

void verify_plan(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report) {
  PlanRequest request = read_plan_request(recorded, options);
  for (PlannerChoice choice : read_planners(recorded["planner"])) {
    request.planner = choice;
    std::string who = choice == PlannerChoice::graph ? "graph" : "greedy";
    Plan plan = make_plan(request);
    expect_steps(report, who, recorded["steps"], plan);
    report.expect_equal(who + ": cost", read_number(recorded["cost"]), plan.cost_us);
    report.fold_data(std::bit_cast<std::uint64_t>(plan.cost_us));
    std::vector<CaseField> list = recorded["step_costs"].items();
    if (!report.expect_equal(who + ": number of step costs", list.size(), plan.steps.size()))
      continue;
    for (std::size_t i = 0; i < list.size(); ++i)
      report.expect_equal(fmt::format("{}: cost of step {}", who, i), read_number(list[i]),
                          plan.steps[i].cost_us);
  }
}

const CaseKind plan_kind({.name = "plan",
                          .summary = "steps and costs of each planner that the case names",
                          .schema = plan_schema,
                          .verifier = verify_plan});

}  // namespace

}  // namespace simmesh
