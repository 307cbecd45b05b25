#include "verify/pytorch/ops/step_compare.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/join_text.h"

namespace simmesh {

namespace {

using PlacementLists = std::vector<Placements>;

// Plain tensors and those that are absent have no placements.
PlacementLists placed(const std::vector<std::optional<Placements>>& list) {
  PlacementLists result;
  for (const auto& placements : list)
    if (placements && !placements->empty()) result.push_back(*placements);
  return result;
}

// Returns placements without the dims that they cut: "S", "_S", "P(sum)".
std::string kinds_of(const Placements& placements) {
  std::string text;
  for (const Placement& placement : placements) {
    std::string word = to_string(placement);
    bool has_dim = word.starts_with("S(") || word.starts_with("_S(");
    text += (text.empty() ? "" : ", ") + (has_dim ? word.substr(0, word.find('(')) : word);
  }
  return text;
}

void add_moves(const PlacementLists& given, const PlacementLists& used,
               std::vector<std::string>& moves) {
  for (std::size_t i = 0; i < std::min(given.size(), used.size()); ++i)
    if (given[i] != used[i])
      moves.push_back(fmt::format("{} -> {}", kinds_of(given[i]), kinds_of(used[i])));
}

std::string steps_in_words(std::vector<std::string> moves) {
  std::sort(moves.begin(), moves.end());
  return moves.empty() ? "none" : join_text(moves, "; ");
}

std::string steps_in_words(const PlacementLists& lists) {
  std::vector<std::string> words;
  for (const Placements& placements : lists) words.push_back(to_string(PlacementSpan(placements)));
  return fmt::format("[{}]", join_text(words, "; "));
}

// True if the op has the operator's name; an operator in place runs the same op.
bool is_operator(const SeenOp& op, std::string_view name) {
  if (name.ends_with('_')) name.remove_suffix(1);
  return op.name == name;
}

// The op that ran here on the tensors of the step has its placements; several may have run on
// tensors of the same placements.
void compare_step(const FunctionStep& step, const std::string& who, const std::vector<SeenOp>& seen,
                  CaseReport& report) {
  if (step.is_view() && !step.redistributes()) return;  // views differ in their arguments
  PlacementLists given = placed(step.given), used = placed(step.used),
                 outputs = placed(step.outputs);
  const SeenOp* other = nullptr;
  for (const SeenOp& op : seen) {
    if (!is_operator(op, step.op.name) || placed(op.given) != given) continue;
    if (placed(op.used) == used && op.outputs == outputs) return;
    other = &op;
  }
  if (other == nullptr) return;
  report.mismatch(fmt::format("{}: {}: expected {} -> {}, got {} -> {}", who, step.op.name,
                              steps_in_words(used), steps_in_words(outputs),
                              steps_in_words(placed(other->used)), steps_in_words(other->outputs)));
}

}  // namespace

void compare_steps(const std::vector<FunctionStep>& steps, const std::vector<SeenOp>& seen,
                   CaseReport& report) {
  std::vector<std::string> expected, actual;
  for (const FunctionStep& step : steps) add_moves(placed(step.given), placed(step.used), expected);
  for (const SeenOp& op : seen) add_moves(placed(op.given), placed(op.used), actual);
  report.expect_equal("steps: redistributed tensors", steps_in_words(std::move(expected)),
                      steps_in_words(std::move(actual)));
  for (std::size_t i = 0; i < steps.size(); ++i)
    compare_step(steps[i], fmt::format("steps.{}", i), seen, report);
}

}  // namespace simmesh
