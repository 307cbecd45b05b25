#include "verify/pytorch/case_plan.h"

#include <fmt/format.h>

#include "verify/case_mesh.h"
#include "verify/case_tensor.h"

namespace simmesh {

namespace {

constexpr std::size_t orders_max = 64;

ShardOrder read_order(const CaseField& field, const Placements& placements) {
  std::vector<ShardOrder::Entry> entries;
  for (const CaseField& entry : field.items(orders_max)) {
    std::vector<CaseField> pair = entry.items(2);
    if (pair.size() != 2) entry.reject("a tensor dim and a list of mesh dims");
    entries.push_back({pair[0].integer(), pair[1].dims()});
  }
  return ShardOrder::of(std::move(entries), placements);
}

}  // namespace

Placements read_placements(const CaseField& field) {
  Placements placements;
  for (const std::string& text : field.texts()) {
    try {
      placements.push_back(parse_placement(text));
    } catch (const Error& error) {
      field.reject(error.message());
    }
  }
  return placements;
}

std::vector<PlannerChoice> read_planners(const CaseField& field) {
  std::string name = field.text();
  if (name == "greedy") return {PlannerChoice::greedy};
  if (name == "graph") return {PlannerChoice::graph};
  if (name == "both") return {PlannerChoice::greedy, PlannerChoice::graph};
  field.reject("greedy, graph or both");
}

PlanRequest read_plan_request(const RecordedCase& recorded) {
  CaseTensor tensor = read_tensor(recorded["tensor"]);
  PlanRequest request{.shape = tensor.shape,
                      .dtype = tensor.data.dtype,
                      .mesh_shape = read_mesh(recorded).shape,
                      .from = read_placements(recorded["from"]),
                      .to = read_placements(recorded["to"])};
  if (auto order = recorded.find("from_order"))
    request.from_order = read_order(*order, request.from);
  if (auto order = recorded.find("to_order")) request.to_order = read_order(*order, request.to);
  if (auto lists = recorded.find("flattened"))
    for (const CaseField& dims : lists->items(orders_max)) request.flattened.push_back(dims.dims());
  if (auto devices = recorded.find("devices_per_host"))
    request.topology.devices_per_host = devices->integer({.min = 1, .max = 1 << 20});
  return request;
}

void expect_steps(CaseReport& report, const std::string& who, const CaseField& steps,
                  const Plan& plan) {
  std::vector<CaseField> expected = steps.items();
  if (!report.expect_equal(who + ": number of steps", expected.size(), plan.steps.size())) return;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    std::string at = fmt::format("{}: step {}", who, i);
    report.expect_known_fields(expected[i],
                               {"mesh_dims", "from", "to", "after", "merged", "divide_by"});
    auto merged = expected[i].find("merged");
    auto divide_by = expected[i].find("divide_by");
    report.expect_equal(at + ": mesh_dims", expected[i]["mesh_dims"].dims(), step.mesh_dims);
    report.expect_equal(at + ": from", expected[i]["from"].text(), to_string(step.from));
    report.expect_equal(at + ": to", expected[i]["to"].text(), to_string(step.to));
    std::vector<std::string> after;
    for (const Placement& placement : step.after.placements) after.push_back(to_string(placement));
    report.expect_equal(at + ": after", expected[i]["after"].texts(), after);
    report.expect_equal(at + ": merged", merged && merged->boolean(), step.merged);
    report.expect_equal(at + ": divide_by", divide_by ? divide_by->integer() : 1, step.divide_by);
  }
}

}  // namespace simmesh
