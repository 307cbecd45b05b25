#include <fmt/format.h>

#include "core/check/join_text.h"
#include "sharding/typed/type_refusal.h"
#include "verify/case_kind.h"
#include "verify/case_tensor.h"
#include "verify/typed/typed_case.h"
#include "verify/typed/value_judge.h"

namespace simmesh {

namespace {

using typed::TypedTensor;

Schema operand_schema() {
  using namespace schema;
  return object_of({{"scalar", {required("scalar", number()), optional("t", types_schema())}},
                    {"shape",
                     {required("shape", shape_schema()), required("t", types_schema()),
                      optional("dtype", dtype_schema()), optional("grad", flag())}}});
}

Schema type_rule_schema() {
  using namespace schema;
  Schema spec = list(or_null(list(text(), {.min = 1})));
  Schema result = object({expected("t", types_schema()), expected("shape", shape_schema()),
                          expected("spec", spec).or_absent("nothing is cut")});
  Schema backward = object(
      {expected("op", text()), expected("src", type_schema()), expected("dst", type_schema())});
  Fields fields = {required("mesh", typed_mesh_schema()),
                   required("operands", list(operand_schema())),
                   optional("mode", word({"permissive"})),
                   optional("current_mesh", flag()),
                   optional("no_grad", yes()),
                   optional("global", yes()),
                   expected("result", list(result)).or_absent(),
                   expected("accepted", yes()).or_absent(),
                   expected("refused", type_refusal_schema()).or_absent(),
                   expected("mutated", types_schema()).or_absent(),
                   expected("same_tensor", yes()).or_absent(),
                   expected("backward", list(backward)).or_absent()};
  for (Field& field : call_fields()) fields.push_back(std::move(field));
  return object(std::move(fields));
}

TypedOperand read_operand(const CaseField& field) {
  TypedOperand operand;
  if (auto number = field.find("scalar")) {
    operand.local.is_number = true;
    operand.number = number->number();
  } else {
    operand.local.tensor.shape = field["shape"].shape();
    if (auto dtype = field.find("dtype")) operand.dtype = dtype_from_string(dtype->text());
    if (auto grad = field.find("grad")) operand.local.tensor.requires_grad = grad->boolean();
    require_elements(field["shape"], operand.local.tensor.shape, 1);
  }
  if (auto types = field.find("t")) read_types(*types, operand.local.tensor);
  return operand;
}

typed::TypingContext read_context(const RecordedCase& recorded) {
  typed::TypingContext context{.axes = read_axes(recorded["mesh"])};
  if (auto current = recorded.find("current_mesh")) context.has_current_mesh = current->boolean();
  context.is_strict = !recorded.has("mode");
  context.is_global = recorded.has("global");
  context.has_gradients = !recorded.has("no_grad");
  return context;
}

TypedCall read_rule(const RecordedCase& recorded) {
  TypedCall call = read_call(recorded.root());
  for (const CaseField& field : recorded["operands"].items())
    call.operands.push_back(read_operand(field));
  return call;
}

std::string spec_text(const typed::PartitionSpec& spec) {
  std::vector<std::string> dims;
  for (const std::vector<std::string>& axes : spec)
    dims.push_back(axes.empty() ? "null" : fmt::format("[{}]", join_text(axes, ", ")));
  return fmt::format("[{}]", join_text(dims, ", "));
}

std::string spec_text(const CaseField& field) {
  typed::PartitionSpec spec;
  for (const CaseField& dim : field.items())
    spec.push_back(dim.is_null() ? std::vector<std::string>() : dim.texts());
  return spec_text(spec);
}

void compare_result(CaseReport& report, const std::string& who, const CaseField& expected,
                    const TypedTensor& actual) {
  TypedTensor recorded;
  read_types(expected["t"], recorded);
  report.expect_equal(who + ": types", types_text(recorded.types), types_text(actual.types));
  report.expect_equal(who + ": shape", expected["shape"].shape(), actual.shape);
  auto spec = expected.find("spec");
  report.expect_equal(who + ": cuts", spec ? spec_text(*spec) : std::string("none"),
                      typed::cuts_any(actual.spec) ? spec_text(actual.spec) : "none");
}

std::string backward_text(const std::vector<typed::BackwardCall>& calls) {
  std::vector<std::string> texts;
  for (const typed::BackwardCall& call : calls)
    texts.push_back(
        fmt::format("{} {}>{}", call.op, typed::to_string(call.src), typed::to_string(call.dst)));
  return texts.empty() ? "none" : join_text(texts, ", then ");
}

std::string backward_text(const RecordedCase& recorded) {
  std::vector<typed::BackwardCall> calls;
  if (auto backward = recorded.find("backward"))
    for (const CaseField& call : backward->items())
      calls.push_back({call["op"].text(), read_type(call["src"]), read_type(call["dst"])});
  return backward_text(calls);
}

std::string mutated_text(const RecordedCase& recorded) {
  auto mutated = recorded.find("mutated");
  if (!mutated) return "none";
  TypedTensor tensor;
  read_types(*mutated, tensor);
  return types_text(tensor.types);
}

void compare_accepted(CaseReport& report, const RecordedCase& recorded,
                      const TypedOutcome& outcome) {
  std::vector<CaseField> results;
  if (auto field = recorded.find("result")) results = field->items();
  report.expect_equal("accepted without a result", recorded.has("accepted"),
                      outcome.results.empty());
  if (!report.expect_equal("number of results", results.size(), outcome.results.size())) return;
  for (std::size_t i = 0; i < results.size(); ++i)
    compare_result(report, fmt::format("result {}", i), results[i], outcome.results[i]);
  report.expect_equal("returns its operand", recorded.has("same_tensor"), outcome.is_same_tensor);
  report.expect_equal("backward calls", backward_text(recorded), backward_text(outcome.backward));
  report.expect_equal(
      "types of the written operand", mutated_text(recorded),
      outcome.written ? types_text(outcome.results.at(0).types) : std::string("none"));
}

void verify_type_rule(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  typed::TypingContext context = read_context(recorded);
  TypedCall call = read_rule(recorded);
  for (const std::string& axis : call.axes) context.size_of(axis);
  auto refused = recorded.find("refused");
  try {
    TypedOutcome outcome = run_typed(call, context);
    if (refused)
      compare_refusal(report, *refused, nullptr);
    else
      compare_accepted(report, recorded, outcome);
    if (auto found = counter_example(call, outcome, context))
      report.mismatch("refuted by values: " + *found);
  } catch (const typed::TypeRefusal& refusal) {
    if (!refused) throw;
    compare_refusal(report, *refused, &refusal);
    // No value shows that a refusal is wrong, so only one that the record disputes is looked at.
    if (!recorded.has("why")) return;
    if (auto found = contradiction(call, context)) report.mismatch("refuted: " + *found);
  }
}

const CaseKind type_rule_kind({.name = "type_rule",
                               .summary = "the type of one call on typed tensors, as spmd_types "
                                          "has it, or its refusal",
                               .schema = type_rule_schema,
                               .verifier = verify_type_rule});

}  // namespace

}  // namespace simmesh
