#include "verify/pytorch/plan.h"

#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "verify/pytorch/case_plan.h"

namespace simmesh {

namespace {

double read_cost(const CaseField& field) {
  if (!field.is_text()) return field.number();
  if (field.text() != "inf") field.reject("a number or \"inf\"");
  return std::numeric_limits<double>::infinity();
}

}  // namespace

void verify_plan(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  PlanRequest request = read_plan_request(recorded);
  for (PlannerChoice choice : read_planners(recorded["planner"])) {
    request.planner = choice;
    std::string who = choice == PlannerChoice::graph ? "graph" : "greedy";
    Plan plan = make_plan(request);
    expect_steps(report, who, recorded["steps"], plan);
    report.expect_equal(who + ": cost", read_cost(recorded["cost"]), plan.cost_us);
    report.fold_data(std::bit_cast<std::uint64_t>(plan.cost_us));
    auto costs = recorded.find("step_costs");
    if (!costs) continue;
    std::vector<CaseField> list = costs->items();
    if (!report.expect_equal(who + ": number of step costs", list.size(), plan.steps.size()))
      continue;
    for (std::size_t i = 0; i < list.size(); ++i)
      report.expect_equal(fmt::format("{}: cost of step {}", who, i), read_cost(list[i]),
                          plan.steps[i].cost_us);
  }
}

}  // namespace simmesh
