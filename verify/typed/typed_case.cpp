#include "verify/typed/typed_case.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "core/check/join_text.h"
#include "sharding/typed/annotation.h"
#include "sharding/typed/global_rule.h"
#include "sharding/typed/op_class.h"
#include "sharding/typed/type_refusal.h"
#include "verify/case_tensor.h"
#include "verify/typed/local_op.h"

namespace simmesh {

namespace {

using typed::TypedTensor;
using typed::TypeOnAxis;

std::vector<TypedTensor> tensors_of(const TypedCall& call) {
  std::vector<TypedTensor> tensors;
  for (const TypedOperand& operand : call.operands) tensors.push_back(operand.local.tensor);
  return tensors;
}

const TypedTensor& only_tensor(const TypedCall& call) {
  if (call.operands.size() != 1 || call.operands[0].local.is_number)
    raise(ErrorKind::value_error, "verify/typed", "expected one tensor for {}, got {} operands",
          call.op, call.operands.size());
  return call.operands[0].local.tensor;
}

const TypeOnAxis& type_argument(const TypedCall& call, const std::string& name) {
  auto found = call.types.find(name);
  if (found == call.types.end())
    raise(ErrorKind::value_error, "verify/typed", "expected the argument {} of {}, got none", name,
          call.op);
  return found->second;
}

const std::string& only_axis(const TypedCall& call) {
  if (call.axes.size() != 1)
    raise(ErrorKind::value_error, "verify/typed", "expected one axis for {}, got {}", call.op,
          call.axes.size());
  return call.axes[0];
}

bool is_flagged(const TypedCall& call, const std::string& name) {
  auto found = call.args.find(name);
  return found != call.args.end() && found->second.find<bool>() && *found->second.find<bool>();
}

// Other arguments than these are no arguments of a call that isn't local.
void require_known(const TypedCall& call, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : call.args)
    if (std::find(known.begin(), known.end(), name) == known.end())
      raise(ErrorKind::type_error, "verify/typed", "expected an argument of {}, got '{}'", call.op,
            name);
}

bool is_annotation(std::string_view op) {
  return op == "assert_type" || op == "mutate_type" || op == "reinterpret_no_grad" ||
         op == "backward";
}

TypedOutcome annotated(const TypedCall& call, const typed::TypingContext& context) {
  const TypedTensor& tensor = only_tensor(call);
  if (call.op == "backward") {
    require_known(call, {"gradient"});
    typed::check_loss(tensor, is_flagged(call, "gradient"), context);
    return {};
  }
  require_known(call, {});
  if (call.op == "assert_type") return {.results = {typed::assert_type(tensor, call.stated)}};
  const TypeOnAxis& dst = type_argument(call, "dst");
  if (call.op == "reinterpret_no_grad")
    return {.results = {typed::reinterpret_no_grad(tensor, only_axis(call), dst)}};
  return {
      .results = {typed::mutate_type(tensor, only_axis(call), type_argument(call, "src"), dst)}};
}

TypedOutcome converted(const TypedCall& call, const typed::TypingContext& context) {
  require_known(call, {"expert_mode", "inplace"});
  typed::Conversion conversion = call.conversion();
  typed::Converted result = typed::convert_type(conversion, only_tensor(call), context);
  TypedOutcome outcome{.results = {std::move(result.tensor)},
                       .is_same_tensor = result.is_same_tensor,
                       .backward = std::move(result.backward)};
  if (conversion.is_in_place) outcome.written = 0;
  return outcome;
}

std::vector<PythonValue> zero_operands(const TypedCall& call) {
  std::vector<PythonValue> values;
  for (const TypedOperand& operand : call.operands)
    values.push_back(operand.local.is_number
                         ? PythonValue(operand.number)
                         : PythonValue(zeros(operand.local.tensor.shape, operand.dtype)));
  return values;
}

std::vector<std::int64_t> named_dims(const TypedCall& call) {
  std::vector<std::int64_t> dims;
  for (const char* name : {"dim", "dim0", "dim1"}) {
    auto found = call.args.find(name);
    const auto* dim = found == call.args.end() ? nullptr : found->second.find<std::int64_t>();
    if (dim) dims.push_back(*dim);
  }
  return dims;
}

// A result requires a gradient where an operand does, but for results that have none.
bool requires_gradient(const TypedCall& call, const typed::TypingContext& context) {
  static const std::set<std::string_view> without = {"detach", "greater", "equal", "argmax",
                                                     "isnan"};
  if (!context.has_gradients || without.count(call.op) > 0) return false;
  for (const TypedOperand& operand : call.operands)
    if (operand.local.tensor.requires_grad) return true;
  return false;
}

// The package types this call as an operation on the loss.
TypedOutcome run_backward(const TypedCall& call, const typed::TypingContext& context) {
  require_known(call, {});
  typed::LocalOperand loss{.tensor = only_tensor(call)};
  typed::infer_local(call.op, {&loss, 1}, context);
  return {};
}

TypedOutcome computed(const TypedCall& call, const typed::TypingContext& context) {
  if (!call.types.empty() || !call.axes.empty())
    raise(ErrorKind::type_error, "verify/typed", "expected no axis and no types of {}, got some",
          call.op);
  std::vector<typed::LocalOperand> operands;
  for (const TypedOperand& operand : call.operands) operands.push_back(operand.local);
  std::vector<Tensor> results = run_local_op(call.op, zero_operands(call), call.args);
  TypedOutcome outcome{.written = typed::written_operand(call.op, operands.size())};
  std::optional<typed::AxisTypes> types;
  if (!context.is_global) types = typed::infer_local(call.op, operands, context);
  for (const Tensor& result : results) {
    TypedTensor tensor;
    if (context.is_global)
      tensor = typed::infer_global({.op = call.op,
                                    .operands = operands,
                                    .dims = named_dims(call),
                                    .keeps_dim = is_flagged(call, "keepdim"),
                                    .result_dims = result.dim()},
                                   context);
    else
      tensor.types = types;
    tensor.shape = result.shape();
    tensor.requires_grad = requires_gradient(call, context);
    outcome.results.push_back(std::move(tensor));
  }
  return outcome;
}

std::string refusal_text(std::string_view error, std::string_view code, std::string_view axis) {
  return axis.empty() ? fmt::format("{} ({})", error, code)
                      : fmt::format("{} ({}) on axis {}", error, code, axis);
}

std::string phrase_of(const CaseField& expected) { return expected["phrase"].text(); }

}  // namespace

bool TypedCall::is_local() const {
  return !is_annotation(op) && op != "autograd.backward" && !typed::is_conversion(op) &&
         !typed::is_raw_collective(op);
}

typed::Conversion TypedCall::conversion() const {
  std::set<std::string> distinct(axes.begin(), axes.end());
  if (axes.empty() || distinct.size() != axes.size())
    raise(ErrorKind::value_error, "verify/typed", "expected different axes for {}, got [{}]", op,
          join_text(axes, ", "));
  typed::Conversion result{.op = op, .axes = axes};
  if (op != "invariant_to_replicate") {
    result.src = type_argument(*this, "src");
    result.dst = type_argument(*this, "dst");
  }
  result.is_expert = is_flagged(*this, "expert_mode");
  result.is_in_place = is_flagged(*this, "inplace");
  return result;
}

TypedOutcome run_typed(const TypedCall& call, const typed::TypingContext& context) {
  if (is_annotation(call.op)) return annotated(call, context);
  if (call.op == "autograd.backward") return run_backward(call, context);
  if (typed::is_conversion(call.op)) return converted(call, context);
  if (typed::is_raw_collective(call.op)) {
    require_known(call, {});
    return {.results = typed::raw_collective(call.op, tensors_of(call), only_axis(call), context)};
  }
  return computed(call, context);
}

Schema typed_mesh_schema() {
  using namespace schema;
  return object({required("shape", list(integer({.min = 1}), {.min = 1})),
                 required("names", list(text(), {.min = 1}))});
}

std::vector<typed::MeshAxis> read_axes(const CaseField& field) {
  std::vector<std::int64_t> sizes = field["shape"].integers();
  std::vector<std::string> names = field["names"].texts();
  if (names.size() != sizes.size()) field["names"].reject("a name for each axis of the mesh");
  std::vector<typed::MeshAxis> axes;
  std::set<std::string> distinct(names.begin(), names.end());
  if (distinct.size() != names.size()) field["names"].reject("other names for other axes");
  constexpr std::int64_t ranks_max = 64;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > ranks_max || count * sizes[i] > ranks_max)
      field["shape"].reject(fmt::format("a mesh of at most {} ranks", ranks_max));
    count *= sizes[i];
    axes.push_back({names[i], sizes[i]});
  }
  return axes;
}

std::int64_t rank_count(const std::vector<typed::MeshAxis>& axes) {
  std::int64_t count = 1;
  for (const typed::MeshAxis& axis : axes) count *= axis.size;
  return count;
}

Schema type_schema() {
  return schema::spelled("R, I, V, P or S(d)", [](const std::string& text) {
    return typed::parse_type(text).has_value();
  });
}

Schema types_schema() { return schema::or_null(schema::map(type_schema())); }

TypeOnAxis read_type(const CaseField& field) {
  std::optional<TypeOnAxis> type = typed::parse_type(field.text());
  if (!type) field.reject("R, I, V, P or S(d)");
  return *type;
}

void read_types(const CaseField& field, TypedTensor& tensor) {
  if (field.is_null()) return;
  tensor.types.emplace();
  for (const std::string& axis : field.keys()) {
    TypeOnAxis type = read_type(field[axis]);
    if (type.is_shard() && *type.shard_dim >= std::int64_t(tensor.shape.size()))
      field[axis].reject("a dim of the tensor");
    tensor.set_type(axis, type);
  }
}

schema::Fields call_fields() {
  using namespace schema;
  return {required("op", text()), optional("axis", either({text(), list(text(), {.min = 1})})),
          optional("args", map(any()))};
}

TypedCall read_call(const CaseField& field) {
  TypedCall call{.op = field["op"].text()};
  if (auto axis = field.find("axis"))
    call.axes = axis->is_list() ? axis->texts() : std::vector<std::string>{axis->text()};
  auto args = field.find("args");
  if (!args) return call;
  for (const std::string& name : args->keys()) {
    CaseField value = (*args)[name];
    if (name == "src" || name == "dst") {
      call.types[name] = read_type(value);
    } else if (name == "type" && call.op == "assert_type") {
      for (const std::string& axis : value.keys()) call.stated[axis] = read_type(value[axis]);
    } else {
      call.args[name] = read_python_value(value, 0);
    }
  }
  return call;
}

std::string types_text(const std::optional<typed::AxisTypes>& types) {
  if (!types) return "null";
  std::vector<std::string> entries;
  for (const auto& [axis, type] : *types)
    entries.push_back(fmt::format("{}: {}", axis, typed::letter_of(type)));
  return fmt::format("{{{}}}", join_text(entries, ", "));
}

Schema type_refusal_schema(schema::Fields further) {
  using namespace schema;
  std::vector<std::string> codes;
  for (const typed::RefusalFacts& facts : typed::all_refusals()) codes.emplace_back(facts.name);
  Fields fields = std::move(further);
  fields.push_back(expected("error", text()));
  fields.push_back(expected("code", word(std::move(codes))));
  fields.push_back(expected("phrase", text()));
  fields.push_back(expected("axis", text()).or_absent());
  return object(std::move(fields));
}

void compare_refusal(CaseReport& report, const CaseField& expected, const Error* actual) {
  auto axis = expected.find("axis");
  std::string recorded = refusal_text(expected["error"].text(), expected["code"].text(),
                                      axis ? axis->text() : std::string());
  const auto* refusal = dynamic_cast<const typed::TypeRefusal*>(actual);
  if (!refusal) {
    report.mismatch(fmt::format("expected {}, got {}", recorded,
                                actual ? std::string(actual->what()) : "an accepted call"));
    return;
  }
  const typed::RefusalFacts& facts = typed::refusal_facts(refusal->code());
  report.expect_equal("refusal", recorded, refusal_text(facts.error, facts.name, refusal->axis()));
  report.expect_equal("words of the refusal", phrase_of(expected), std::string(facts.phrase));
}

}  // namespace simmesh
