#include "verify/pytorch/ops/function_steps.h"

#include <algorithm>
#include <fmt/format.h>

#include "verify/pytorch/ops/op_result.h"

namespace simmesh {

namespace {

constexpr std::string_view view_operators[] = {
    "_unsafe_view", "alias",  "as_strided", "detach",  "expand",    "permute",
    "reshape",      "select", "slice",      "squeeze", "squeeze_",  "t",
    "transpose",    "unbind", "unfold",     "split",   "unsqueeze", "view"};

std::vector<std::optional<Placements>> read_list(const CaseField& field, std::size_t mesh_dims) {
  std::vector<std::optional<Placements>> list;
  for (const CaseField& entry : field.items()) {
    list.emplace_back();
    if (entry.is_null()) continue;
    list.back() = read_case_placements(entry);
    if (list.back()->size() != mesh_dims)
      entry.reject(fmt::format("a placement for each of {} mesh dims", mesh_dims));
  }
  return list;
}

bool has(const std::vector<Placements>& list, const Placements& placements) {
  return std::find(list.begin(), list.end(), placements) != list.end();
}

}  // namespace

bool FunctionStep::is_view() const {
  return std::find(std::begin(view_operators), std::end(view_operators), op.name) !=
         std::end(view_operators);
}

Schema steps_schema_of_function(const Schema& placed) {
  using namespace schema;
  return list(object({required("op", spelled("an operator of PyTorch", is_aten_operator)),
                      required("in", placed), required("used", placed), required("out", placed)}));
}

std::vector<FunctionStep> read_function_steps(const CaseField& field, std::size_t mesh_dims) {
  std::vector<FunctionStep> steps;
  for (const CaseField& entry : field.items()) {
    FunctionStep step{.op = parse_aten_operator(entry["op"].text()),
                      .given = read_list(entry["in"], mesh_dims),
                      .used = read_list(entry["used"], mesh_dims),
                      .outputs = read_list(entry["out"], mesh_dims)};
    bool fits = std::equal(
        step.given.begin(), step.given.end(), step.used.begin(), step.used.end(),
        [](const auto& given, const auto& used) { return given.has_value() == used.has_value(); });
    if (!fits) entry["used"].reject("placements of the tensors of 'in'");
    steps.push_back(std::move(step));
  }
  return steps;
}

void expect_flow(const std::vector<FunctionStep>& steps, const std::vector<Placements>& inputs,
                 const std::vector<Placements>& results, CaseReport& report) {
  std::vector<Placements> there = inputs;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const auto& given : steps[i].given)
      if (given && !has(there, *given))
        report.mismatch(
            fmt::format("steps.{}.in: expected an input or the result of a step, got {}", i,
                        to_string(PlacementSpan(*given))));
    for (const auto& output : steps[i].outputs)
      if (output) there.push_back(*output);
  }
  for (const Placements& result : results)
    if (!has(there, result))
      report.mismatch(fmt::format("steps: expected one that gives {}, the placements of a result",
                                  to_string(PlacementSpan(result))));
}

}  // namespace simmesh
