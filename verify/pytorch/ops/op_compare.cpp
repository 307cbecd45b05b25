#include "verify/pytorch/ops/op_compare.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/join_text.h"
#include "verify/case_report.h"

namespace simmesh {

namespace {

constexpr const char* missing_phrases[] = {"does not have a sharding strategy registered",
                                           "Sharding propagation failed"};

std::string text_or_empty(const RecordedCase& recorded, const char* name) {
  auto field = recorded.find(name);
  return field ? field->text() : std::string();
}

std::string in_words(const std::vector<std::optional<Placements>>& list) {
  std::vector<std::string> words;
  for (const auto& placements : list)
    if (placements) words.push_back(to_string(PlacementSpan(*placements)));
  return fmt::format("[{}]", join_text(words, "; "));
}

// Returns the inputs of an op in the order of PyTorch's operator. The call may have another:
// bucketize has the boundaries second.
std::vector<std::optional<Placements>> aten_order(const SeenOp& op, std::string_view function) {
  auto inputs = op.used;
  if (op.name == "searchsorted" && function.find("bucketize") != std::string_view::npos)
    std::swap(inputs[0], inputs[1]);
  return inputs;
}

std::string plan_in_words(const OpRun& run) {
  std::string text;
  for (const SeenOp& op : run.forward)
    text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", op.name, in_words(op.given),
                        in_words(op.used));
  return text;
}

void expect_comm(const std::string& who, const std::optional<CollectiveTally>& expected,
                 const CollectiveTally& actual, ResultDifferences& differences) {
  if (expected && *expected != actual)
    differences.of_plan.push_back(
        fmt::format("{}: expected {}, got {}", who, value_text(*expected), value_text(actual)));
}

// Gradients may be off by ten times as much.
Closeness of_gradients(const Closeness& closeness) {
  if (closeness.relative == 0) return {};
  return {10 * closeness.relative, 1e-10};
}

void add_all(const std::vector<std::string>& texts, CaseReport& report) {
  for (const std::string& text : texts) report.mismatch(text);
}

// Compares a whole result of the distributed call with that of the call on whole tensors.
void compare_whole(const std::string& who, const ActualResult& actual, const ActualResult& expected,
                   const Closeness& closeness, CaseReport& report) {
  bool has_same_form = expected.is_there() == actual.is_there() &&
                       expected.value.has_value() == actual.value.has_value();
  if (!has_same_form) return report.mismatch(who + ": expected what whole tensors give");
  if (expected.value && !same_value(*expected.value, *actual.value))
    return report.mismatch(who + ": value: expected that of whole tensors");
  if (expected.value || !expected.is_there()) return;
  report.expect_equal(who + ": dtype", to_string(expected.dtype), to_string(actual.dtype));
  if (!report.expect_equal(who + ": shape", expected.shape, actual.shape)) return;
  if (closeness.relative > 0) {
    std::string text = difference_in_values(expected.full, actual.full, closeness);
    if (!text.empty()) report.mismatch(fmt::format("{}: whole tensor: {}", who, text));
    return;
  }
  report.expect_equal(who + ": bits of the whole tensor", bits_without_signs_of_zero(expected.full),
                      bits_without_signs_of_zero(actual.full));
}

void compare_whole(const std::string& who, const std::vector<ActualResult>& actual,
                   const std::vector<ActualResult>& expected, const Closeness& closeness,
                   CaseReport& report) {
  if (!report.expect_equal(who + ": count", expected.size(), actual.size())) return;
  for (std::size_t i = 0; i < expected.size(); ++i)
    compare_whole(fmt::format("{} {}", who, i), actual[i], expected[i], closeness, report);
}

// The latest stage that any rank reached.
OpRun::Stage stage_of(const std::vector<OpRun>& runs) {
  auto stage = OpRun::Stage::inputs;
  for (const OpRun& run : runs) stage = std::max(stage, run.stage);
  return stage;
}

}  // namespace

OpExpectation::OpExpectation(const RecordedCase& recorded, const OpCase& in)
    : refusal_class_(text_or_empty(recorded, "error")),
      refusal_phrase_(text_or_empty(recorded, "message_contains")),
      is_refusal_(recorded.has("error")),
      is_backward_refusal_(recorded.has("error_in")),
      in_(in) {
  bool is_missing = std::any_of(
      std::begin(missing_phrases), std::end(missing_phrases),
      [&](const char* phrase) { return refusal_phrase_.find(phrase) != std::string::npos; });
  may_go_beyond_ = is_refusal_ && (is_missing || in.name.starts_with("sdpa_math"));
}

void OpExpectation::check(const std::vector<OpRun>& runs, const Error* error,
                          CaseReport& report) const {
  if (is_refusal_) return check_refusal(runs, error, report);
  if (error)
    return report.mismatch(
        fmt::format("refused with a {}: {}", to_string(error->kind()), error->what()));
  ResultDifferences differences;
  for (std::size_t rank = 0; rank < runs.size(); ++rank) compare(runs[rank], rank, differences);
  if (!differences.of_values.empty() || differences.of_plan.empty()) {
    add_all(differences.of_values, report);
    return add_all(differences.of_plan, report);
  }
  const OpRun& first = runs.front();
  double cost = first.cost_us();
  if (!first.recorded_cost_us || !(cost < *first.recorded_cost_us))
    return add_all(differences.of_plan, report);
  report.pass_as_cheaper(fmt::format("{} for {:.6g} us; PyTorch runs on {} for {:.6g} us",
                                     plan_in_words(first), cost, in_words(*in_.used),
                                     *first.recorded_cost_us));
}

void OpExpectation::check_refusal(const std::vector<OpRun>& runs, const Error* error,
                                  CaseReport& report) const {
  if (!error && may_go_beyond_) return check_whole(runs, report);
  std::string expected = fmt::format("a {} with '{}'{}", refusal_class_, refusal_phrase_,
                                     is_backward_refusal_ ? " in the backward pass" : "");
  if (!error) return report.mismatch(fmt::format("expected {}, got no error", expected));
  if (!is_recorded_refusal(runs, *error))
    report.mismatch(fmt::format(
        "expected {}, got a {}{}: {}", expected, to_string(error->kind()),
        stage_of(runs) == OpRun::Stage::backward ? " in the backward pass" : "", error->what()));
}

bool OpExpectation::is_recorded_refusal(const std::vector<OpRun>& runs, const Error& error) const {
  auto wanted = is_backward_refusal_ ? OpRun::Stage::backward : OpRun::Stage::forward;
  return is_refusal_ && to_string(error.kind()) == refusal_class_ && stage_of(runs) == wanted &&
         std::string_view(error.what()).find(refusal_phrase_) != std::string_view::npos;
}

void OpExpectation::check_whole(const std::vector<OpRun>& runs, CaseReport& report) const {
  for (std::size_t rank = 0; rank < runs.size(); ++rank) {
    const OpRun& run = runs[rank];
    compare_whole(fmt::format("rank {}: output", rank), run.outputs, run.whole_outputs,
                  in_.closeness, report);
    compare_whole(fmt::format("rank {}: gradient", rank), run.gradients, run.whole_gradients,
                  of_gradients(in_.closeness), report);
  }
  if (!report.failed()) report.pass_as_beyond();
}

void OpExpectation::compare(const OpRun& run, std::size_t rank,
                            ResultDifferences& differences) const {
  std::string who = fmt::format("rank {}", rank);
  if (in_.outputs.size() != run.outputs.size()) {
    differences.of_values.push_back(fmt::format("{}: expected {} outputs, got {}", who,
                                                in_.outputs.size(), run.outputs.size()));
    return;
  }
  for (std::size_t i = 0; i < run.outputs.size(); ++i)
    compare_result(in_.outputs[i], run.outputs[i],
                   {.rank = rank, .closeness = in_.closeness, .what = fmt::format("output {}", i)},
                   differences);
  expect_comm(who + ": collectives", in_.comm, run.comm, differences);
  compare_used(run, rank, differences);
  compare_gradients(run, rank, differences);
}

// Compares the placements of the inputs if the call is one op here, too. An input that is no tensor
// of the op isn't listed.
void OpExpectation::compare_used(const OpRun& run, std::size_t rank,
                                 ResultDifferences& differences) const {
  if (!in_.used || run.forward.size() != 1) return;
  std::string expected = in_words(*in_.used),
              actual = in_words(aten_order(run.forward[0], in_.function));
  if (expected != actual)
    differences.of_plan.push_back(fmt::format("rank {}: {} ran on: expected {}, got {}", rank,
                                              run.forward[0].name, expected, actual));
}

void OpExpectation::compare_gradients(const OpRun& run, std::size_t rank,
                                      ResultDifferences& differences) const {
  if (!in_.comm_backward) return;
  expect_comm(fmt::format("rank {}: collectives of the backward pass", rank), in_.comm_backward,
              run.comm_backward, differences);
  Closeness closeness = of_gradients(in_.closeness);
  std::size_t next = 0;
  for (std::size_t input = 0; input < in_.asks_gradient.size(); ++input) {
    if (!in_.asks_gradient[input]) continue;
    const ActualResult& actual = run.gradients[next++];
    std::string what = fmt::format("gradient of input {}", input);
    auto expected = std::find_if(in_.gradients.begin(), in_.gradients.end(),
                                 [&](const RecordedResult& one) { return one.input == input; });
    if (expected != in_.gradients.end())
      compare_result(*expected, actual, {.rank = rank, .closeness = closeness, .what = what},
                     differences);
    else if (actual.is_there())
      differences.of_values.push_back(fmt::format("rank {}: expected no {}", rank, what));
  }
}

}  // namespace simmesh
