#include "verify/typed/typed_program.h"

#include "core/check/error.h"
#include "verify/case_tensor.h"

namespace simmesh {

namespace {

TypedStep read_step(const CaseField& field) {
  TypedStep step{.out = {}, .call = read_call(field), .in = {}};
  if (!field["out"].is_null()) step.out = field["out"].text();
  for (const CaseField& entry : field["in"].items()) {
    TypedOperand operand;
    operand.local.is_number = !entry.is_text();
    if (operand.local.is_number) operand.number = entry.number();
    step.in.push_back(entry.is_text() ? std::optional(entry.text()) : std::nullopt);
    step.call.operands.push_back(std::move(operand));
  }
  return step;
}

DType dtype_after(const TypedCall& call) {
  if (call.op == "greater" || call.op == "equal") return DType::boolean;
  for (const TypedOperand& operand : call.operands)
    if (!operand.local.is_number && is_floating_point(operand.dtype)) return operand.dtype;
  return DType::float32;
}

void run_step(TypedProgram& program, TypedStep& step) {
  for (std::size_t i = 0; i < step.in.size(); ++i) {
    if (!step.in[i]) continue;
    const TypedValue& value = *program.value(*step.in[i]);
    step.call.operands[i].local.tensor = value.tensor;
    step.call.operands[i].dtype = value.dtype;
  }
  step.outcome = run_typed(step.call, program.context);
  if (!step.out) return;
  if (step.outcome.results.size() != 1)
    raise(ErrorKind::value_error, "verify/typed", "expected one result of {}, got {}", step.call.op,
          step.outcome.results.size());
  if (step.writes_operand()) {
    std::shared_ptr<TypedValue> operand = program.value(*step.in[0]);
    operand->tensor = step.outcome.results[0];
    program.values[*step.out] = std::move(operand);
  } else {
    program.values[*step.out] =
        std::make_shared<TypedValue>(TypedValue{step.outcome.results[0], dtype_after(step.call)});
  }
}

}  // namespace

bool TypedStep::writes_operand() const {
  bool is_own = outcome.is_same_tensor || outcome.written == std::optional<std::size_t>(0);
  return is_own && !in.empty() && in[0];
}

const std::shared_ptr<TypedValue>& TypedProgram::value(const std::string& name) const {
  auto found = values.find(name);
  if (found == values.end())
    raise(ErrorKind::key_error, "verify/typed", "expected a value of the program, got '{}'", name);
  return found->second;
}

void TypedProgram::run() {
  for (; steps_done < steps.size(); ++steps_done) run_step(*this, steps[steps_done]);
}

schema::Fields program_fields() {
  using namespace schema;
  Fields step = {required("out", or_null(text())),
                 required("in", list(either({text(), number()})))};
  for (Field& field : call_fields()) step.push_back(std::move(field));
  Schema input = object({required("name", text()), required("t", types_schema()),
                         required("shape", shape_schema()), optional("dtype", dtype_schema()),
                         optional("grad", flag())});
  return {required("mesh", typed_mesh_schema()), required("inputs", list(input)),
          required("steps", list(object(std::move(step)), {.min = 1}))};
}

TypedProgram read_program(const RecordedCase& recorded) {
  TypedProgram program{.context = {.axes = read_axes(recorded["mesh"])}};
  for (const CaseField& field : recorded["inputs"].items()) {
    auto value = std::make_shared<TypedValue>();
    value->tensor.shape = field["shape"].shape();
    require_elements(field["shape"], value->tensor.shape, rank_count(program.context.axes));
    read_types(field["t"], value->tensor);
    if (auto dtype = field.find("dtype")) value->dtype = dtype_from_string(dtype->text());
    if (auto grad = field.find("grad")) value->tensor.requires_grad = grad->boolean();
    program.inputs.push_back(field["name"].text());
    program.values[program.inputs.back()] = std::move(value);
  }
  for (const CaseField& field : recorded["steps"].items())
    program.steps.push_back(read_step(field));
  return program;
}

}  // namespace simmesh
