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

// The splits of a strided shard are walked one by one.
constexpr std::int64_t split_factor_max = 1 << 12;
constexpr std::int64_t splits_max = 1 << 18;

// The graph planner's search grows with the power of the mesh dims.
constexpr std::size_t planned_mesh_dims_max = 6;
constexpr std::size_t planned_tensor_dims_max = 8;

Schema placement_schema() {
  return schema::spelled(
      fmt::format("R, S(d), P(op) or _S(d,sf) with a split factor of at most {}", split_factor_max),
      [](const std::string& text) {
        Placement placement = parse_placement(text);
        bool is_plain = placement.is_replicate() || placement.is_plain_partial() ||
                        placement.is_shard() || placement.is_strided_shard();
        return is_plain && placement.split_factor() <= split_factor_max;
      });
}

Schema order_schema() {
  using namespace schema;
  return list(tuple({integer(), list(integer(), {.max = orders_max})}), {.max = orders_max});
}

}  // namespace

Schema placements_schema() {
  using namespace schema;
  return list(placement_schema(), {.max = orders_max});
}

schema::Fields plan_fields(Schema tensor) {
  using namespace schema;
  return {required("mesh", mesh_schema()),
          required("tensor", std::move(tensor)),
          required("from", placements_schema()),
          required("to", placements_schema()),
          optional("from_order", order_schema()),
          optional("to_order", order_schema()),
          optional("flattened", list(list(integer(), {.max = orders_max}), {.max = orders_max})),
          required("planner", word({"greedy", "graph", "both"}))};
}

Schema steps_schema() {
  using namespace schema;
  Schema placement = spelled("a placement", [](const std::string& text) {
    parse_placement(text);
    return true;
  });
  return list(
      object({expected("mesh_dims", list(integer({.min = 0}), {.min = 1})),
              expected("from", placement), expected("to", placement),
              expected("after", list(placement, {.min = 1})), expected("merged", yes()).or_absent(),
              expected("divide_by", integer({.min = 2})).or_absent()}));
}

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

void require_pieces(const RecordedCase& recorded, std::int64_t ranks) {
  for (const char* name : {"from", "to"}) {
    auto field = recorded.find(name);
    if (!field) continue;
    std::int64_t splits = 1;
    for (const Placement& placement : read_placements(*field)) splits += placement.split_factor();
    if (splits * ranks > splits_max)
      field->reject(fmt::format("split factors that sum to at most {} in all ranks", splits_max));
  }
}

std::vector<PlannerChoice> read_planners(const CaseField& field) {
  std::string name = field.text();
  if (name == "greedy") return {PlannerChoice::greedy};
  if (name == "graph") return {PlannerChoice::graph};
  if (name == "both") return {PlannerChoice::greedy, PlannerChoice::graph};
  field.reject("greedy, graph or both");
}

PlanRequest read_plan_request(const RecordedCase& recorded, const VerifyOptions& options) {
  CaseTensor tensor = read_tensor(recorded["tensor"]);
  if (tensor.shape.size() > planned_tensor_dims_max)
    recorded["tensor"]["shape"].reject(fmt::format("at most {} dims", planned_tensor_dims_max));
  if (recorded["mesh"]["shape"].size() > planned_mesh_dims_max)
    recorded["mesh"]["shape"].reject(fmt::format("at most {} dims", planned_mesh_dims_max));
  PlanRequest request{.shape = tensor.shape,
                      .dtype = tensor.data.dtype,
                      .mesh_shape = read_fitting_mesh(recorded).shape,
                      .from = read_placements(recorded["from"]),
                      .to = read_placements(recorded["to"]),
                      .release = options.release.value_or(newest_release)};
  if (auto order = recorded.find("from_order"))
    request.from_order = read_order(*order, request.from);
  if (auto order = recorded.find("to_order")) request.to_order = read_order(*order, request.to);
  if (auto lists = recorded.find("flattened"))
    for (const CaseField& dims : lists->items(orders_max)) request.flattened.push_back(dims.dims());
  if (auto devices = recorded.find("devices_per_host"))
    request.topology.devices_per_host = devices->integer();
  return request;
}

void expect_steps(CaseReport& report, const std::string& who, const CaseField& steps,
                  const Plan& plan) {
  std::vector<CaseField> expected = steps.items();
  if (!report.expect_equal(who + ": number of steps", expected.size(), plan.steps.size())) return;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    std::string at = fmt::format("{}: step {}", who, i);
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
