#include "verify/pytorch/ops/op_compare.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/join_text.h"
#include "verify/case_report.h"
#include "verify/pytorch/ops/aten_operator.h"
#include "verify/pytorch/ops/step_compare.h"

namespace simmesh {

namespace {

// Refusals of PyTorch that a right result may go beyond: for want of a strategy, and of attention
// by plain products where these can't be split.
struct Refusal {
  std::string_view error, phrase;
};
constexpr Refusal missing_strategies[] = {
    {"NotImplementedError", "does not have a sharding strategy registered"},
    {"RuntimeError", "Sharding propagation failed"}};
constexpr Refusal attention_refusals[] = {{"RuntimeError", "Cannot flatten"},
                                          {"RuntimeError", "Cannot unflatten"},
                                          {"RuntimeError", "mixed torch.Tensor and DTensor"},
                                          {"RuntimeError", "redistribution"},
                                          {"RuntimeError", "not supported"}};

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
                 const CollectiveTally& actual, std::vector<std::string>& differences) {
  if (expected && *expected != actual)
    differences.push_back(
        fmt::format("{}: expected {}, got {}", who, value_text(*expected), value_text(actual)));
}

// Gradients may be off by ten times as much.
Closeness of_gradients(const Closeness& closeness) {
  if (closeness.relative == 0) return {};
  return {10 * closeness.relative, 1e-10};
}

bool combines_pieces(std::string_view function) {
  return function.ends_with(".argmax") || function.ends_with(".argmin");
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
  auto is_known = [&](gsl::span<const Refusal> refusals) {
    return std::any_of(refusals.begin(), refusals.end(), [&](const Refusal& one) {
      return one.error == refusal_class_ && one.phrase == refusal_phrase_;
    });
  };
  may_go_beyond_ = is_known(missing_strategies) ||
                   (in.function == "recorder.sdpa_math" && is_known(attention_refusals));
}

void OpExpectation::check(const OpEnding& ending, const RunRecorded& run_recorded,
                          CaseReport& report) const {
  const std::vector<OpRun>& runs = ending.runs;
  if (is_refusal_) return check_refusal(runs, ending.error ? &*ending.error : nullptr, report);
  if (ending.error)
    return report.mismatch(fmt::format("refused with a {}: {}", to_string(ending.error->kind()),
                                       ending.error->what()));
  check_operator(runs, report);
  check_steps(runs, report);
  ResultDifferences differences;
  for (std::size_t rank = 0; rank < runs.size(); ++rank) compare(runs[rank], rank, differences);
  add_all(differences.of_values, report);
  if (report.failed()) return add_all(differences.of_plan, report);
  const OpRun& first = runs.front();
  if (differences.of_plan.empty()) {
    // A call that is several ops here has no placements to compare with the operator's.
    if (in_.used && first.forward.size() != 1) check_recorded(run_recorded, report);
    return;
  }
  double cost = first.cost_us();
  if (!first.recorded_cost_us || !(cost < *first.recorded_cost_us))
    return add_all(differences.of_plan, report);
  check_recorded(run_recorded, report);
  if (report.failed()) return add_all(differences.of_plan, report);
  report.pass_as_cheaper(fmt::format("{} for {:.6g} us; PyTorch runs on {} for {:.6g} us",
                                     plan_in_words(first), cost, in_words(*in_.used),
                                     *first.recorded_cost_us));
}

// The recorded operator is one that the function can be, and ran on the tensors of the call.
void OpExpectation::check_operator(const std::vector<OpRun>& runs, CaseReport& report) const {
  const std::vector<SeenOp>& seen = runs.front().forward;
  if (in_.used) check_tensors(seen.empty(), report);
  if (in_.aten && !can_be_operator(in_.function, *in_.aten, seen.size() == 1 ? seen[0].name : ""))
    report.mismatch(
        fmt::format("aten: expected an operator that {} can be, got {}", in_.function, *in_.aten));
}

// `used` has an entry for each tensor of the call. A function that runs nothing leaves them as they
// are, and so does one whose ranks combine the results of their pieces.
void OpExpectation::check_tensors(bool runs_nothing, CaseReport& report) const {
  std::vector<std::optional<Placements>> given;
  for (const std::optional<std::size_t>& input : in_.tensors_of_operator()) {
    given.emplace_back();
    if (input && in_.inputs[*input].is_distributed())
      given.back() = in_.inputs[*input].placements();
  }
  bool fits = std::equal(
      given.begin(), given.end(), in_.used->begin(), in_.used->end(),
      [](const auto& one, const auto& other) { return one.has_value() == other.has_value(); });
  if (!fits)
    report.mismatch(fmt::format(
        "used: expected placements of the distributed ones among {} tensors", given.size()));
  else if ((runs_nothing || combines_pieces(in_.function)) && *in_.used != given)
    report.mismatch(fmt::format("used: expected {}, got {}", in_words(given), in_words(*in_.used)));
}

void OpExpectation::check_steps(const std::vector<OpRun>& runs, CaseReport& report) const {
  if (!in_.steps) return;
  std::vector<Placements> inputs, results;
  for (const OpInput& input : in_.inputs)
    if (input.is_distributed()) inputs.push_back(input.placements());
  for (const RecordedResult& output : in_.outputs)
    if (output.placements) results.push_back(*output.placements);
  expect_flow(*in_.steps, inputs, results, report);
  compare_steps(*in_.steps, runs.front().forward, report);
}

// The call on the recorded placements has the recorded placements, pieces and collectives.
void OpExpectation::check_recorded(const RunRecorded& run_recorded, CaseReport& report) const {
  CaseReport of_recorded;
  OpEnding ending = run_recorded(of_recorded);
  std::string who = fmt::format("on {}: ", in_words(*in_.used));
  if (ending.error) of_recorded.mismatch(ending.error->what());
  ResultDifferences differences;
  for (std::size_t rank = 0; rank < ending.runs.size() && !of_recorded.failed(); ++rank)
    compare_outputs(ending.runs[rank], rank, differences);
  for (const SeenOp& op : ending.runs.front().forward)
    if (op.given != op.used)
      differences.of_plan.push_back(fmt::format("{} runs on {}", op.name, in_words(op.used)));
  add_all(differences.of_values, of_recorded);
  add_all(differences.of_plan, of_recorded);
  for (const std::string& text : of_recorded.mismatches()) report.mismatch(who + text);
}

void OpExpectation::check_refusal(const std::vector<OpRun>& runs, const Error* error,
                                  CaseReport& report) const {
  if (refusal_phrase_.empty())
    return report.mismatch("message_contains: expected a phrase of the refusal, got none");
  if (!error && may_go_beyond_) return check_whole(runs, report);
  std::string expected = fmt::format("a {} with '{}'{}", refusal_class_, refusal_phrase_,
                                     is_backward_refusal_ ? " in the backward pass" : "");
  if (!error) return report.mismatch(fmt::format("expected {}, got no error", expected));
  if (!is_recorded_refusal(runs, *error))
    report.mismatch(fmt::format(
        "expected {}, got a {}{}: {}", expected, to_string(error->kind()),
        stage_of(runs) == OpRun::Stage::backward ? " in the backward pass" : "", error->what()));
  if (!is_backward_refusal_) return;
  ResultDifferences differences;
  for (std::size_t rank = 0; rank < runs.size(); ++rank)
    compare_used(runs[rank], rank, differences);
  add_all(differences.of_plan, report);
}

bool OpExpectation::is_recorded_refusal(const std::vector<OpRun>& runs, const Error& error) const {
  auto wanted = is_backward_refusal_ ? OpRun::Stage::backward : OpRun::Stage::forward;
  return is_refusal_ && to_string(error.kind()) == refusal_class_ && stage_of(runs) == wanted &&
         std::string_view(error.what()).find(refusal_phrase_) != std::string_view::npos;
}

void OpExpectation::check_whole(const std::vector<OpRun>& runs, CaseReport& report) const {
  ResultDifferences differences;
  for (std::size_t rank = 0; rank < runs.size(); ++rank) {
    const OpRun& run = runs[rank];
    if (is_backward_refusal_) compare_used(run, rank, differences);
    compare_whole(fmt::format("rank {}: output", rank), run.outputs, run.whole_outputs,
                  in_.closeness, report);
    compare_whole(fmt::format("rank {}: gradient", rank), run.gradients, run.whole_gradients,
                  of_gradients(in_.closeness), report);
  }
  add_all(differences.of_plan, report);
  if (!report.failed()) report.pass_as_beyond();
}

void OpExpectation::compare(const OpRun& run, std::size_t rank,
                            ResultDifferences& differences) const {
  compare_outputs(run, rank, differences);
  compare_used(run, rank, differences);
  compare_gradients(run, rank, differences);
}

void OpExpectation::compare_outputs(const OpRun& run, std::size_t rank,
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
  expect_comm(who + ": collectives", in_.comm, run.comm, differences.of_plan);
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
  ResultDifferences own;  // a cheaper plan of the call doesn't excuse another one of its gradients
  expect_comm(fmt::format("rank {}: collectives of the backward pass", rank), in_.comm_backward,
              run.comm_backward, own.of_values);
  Closeness closeness = of_gradients(in_.closeness);
  std::size_t next = 0;
  for (std::size_t input = 0; input < in_.asks_gradient.size(); ++input) {
    if (!in_.asks_gradient[input]) continue;
    const ActualResult& actual = run.gradients[next++];
    std::string what = fmt::format("gradient of input {}", input);
    auto expected = std::find_if(in_.gradients.begin(), in_.gradients.end(),
                                 [&](const RecordedResult& one) { return one.input == input; });
    if (expected != in_.gradients.end())
      compare_result(*expected, actual, {.rank = rank, .closeness = closeness, .what = what}, own);
    else if (actual.is_there())
      own.of_values.push_back(fmt::format("rank {}: expected no {}", rank, what));
  }
  for (auto* list : {&own.of_values, &own.of_plan})
    differences.of_values.insert(differences.of_values.end(), list->begin(), list->end());
}

}  // namespace simmesh
