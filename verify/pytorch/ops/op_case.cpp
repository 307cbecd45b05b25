#include "verify/pytorch/ops/op_case.h"

#include <fmt/format.h>

#include "core/ops/shapes/joining.h"
#include "sharding/dtensor/dtensor.h"
#include "verify/pytorch/ops/aten_operator.h"
#include "verify/pytorch/ops/complex_pairs.h"

namespace simmesh {

namespace {

constexpr std::int64_t op_ranks_max = 1024;
constexpr std::size_t inputs_max = 256;

CaseMesh own_mesh(const CaseField& field, const CaseMesh& mesh) {
  auto own = field.find("mesh");
  if (!own) return mesh;
  CaseMesh result{.shape = (*own)["shape"].shape(), .ranks = {}, .names = {}, .world = mesh.world};
  if (numel(result.shape) != mesh.world)
    own->reject(fmt::format("a mesh of the {} ranks", mesh.world));
  return result;
}

CaseTensor read_input_tensor(const CaseField& field, bool is_complex) {
  if (!is_complex) return read_tensor(field);
  CaseTensor tensor{.shape = field["shape"].shape(), .data = {}};
  tensor.data.dtype = real_dtype(field["dtype"].text());
  tensor.data.rule = rule_from_string(field["rule"].text());
  tensor.data.seed = field["seed"].unsigned64();
  return tensor;
}

schema::Fields call_fields() {
  using namespace schema;
  Schema placed = list(or_null(case_placements_schema()));
  return {required("family", text()).because("a label"),
          required("op", text()).because("a label"),
          required("torch", text()),
          required("mesh", mesh_schema()),
          required("inputs", list(op_input_schema(), {.max = inputs_max})),
          required("args", list(python_value_schema())),
          optional("kwargs", map(python_value_schema())),
          optional("inplace", yes()),
          expected("aten", spelled("an operator of PyTorch", is_aten_operator)).or_absent(),
          expected("steps", steps_schema_of_function(placed))
              .or_absent()
              .because("a program may view tensors otherwise; redistributions are compared, and "
                       "the operators that it has, too"),
          expected("used", placed).or_absent(),
          optional("rounds", yes()).because("it tells how the hashes were made"),
          optional("rtol", number_in(0, 1)).because("a tolerance may be wider"),
          expected("outputs", list(result_schema())).or_absent(),
          optional("output_placements", list(or_null(case_placements_schema())))
              .because("a disputed result"),
          expected("comm", tally_schema(call_collectives)).or_absent(),
          expected("error", refusal_class()).or_absent(),
          expected("message_contains", text()).or_absent()};
}

// Returns the name under which the function of a case takes its tensors.
std::string function_of(const RecordedCase& recorded, const std::vector<OpInput>& inputs) {
  std::vector<bool> are_complex;
  for (const OpInput& input : inputs) are_complex.push_back(input.is_complex());
  // Gradients of complex tensors count as those of a real one, which no function has.
  if (recorded.kind() == "op_grad") are_complex.push_back(false);
  return function_on(recorded["torch"].text(), are_complex);
}

// True for an input that a recording may leave without a gradient: the weight of a loss of classes,
// and a target of 0 and 1.
bool may_lack_gradient(const OpCase& in, std::size_t input) {
  std::string_view function = in.function;
  if (function.ends_with(".binary_cross_entropy_with_logits")) return input == 1;
  auto weight = in.keywords.find("weight");
  return (function.ends_with(".nll_loss") || function.ends_with(".cross_entropy")) &&
         weight != in.keywords.end() && weight->second.inputs() == std::vector{input};
}

void read_gradients(const RecordedCase& recorded, OpCase& in) {
  in.asks_gradient.assign(in.inputs.size(), false);
  std::vector<std::size_t> floating;
  for (std::size_t i = 0; i < in.inputs.size(); ++i)
    if (in.inputs[i].wants_gradient()) floating.push_back(i);
  auto field = recorded.find("grads");
  if (!field) {
    for (std::size_t i : floating) in.asks_gradient[i] = true;
    return;
  }
  std::vector<CaseField> entries = field->items();
  bool fits = entries.size() <= floating.size();
  for (std::size_t i = entries.size(); fits && i < floating.size(); ++i)
    fits = may_lack_gradient(in, floating[i]);
  if (!fits) field->reject("a gradient, or null, for each floating input");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    in.asks_gradient[floating[i]] = true;
    if (entries[i].is_null()) continue;
    in.gradients.push_back(read_result(entries[i], in.mesh.world));
    if (in.gradients.back().input != floating[i])
      entries[i]["input"].reject(fmt::format("{}, a floating input", floating[i]));
  }
}

void read_results(const RecordedCase& recorded, OpCase& in) {
  if (recorded.has("error") == recorded.has("outputs") && recorded.kind() == "op")
    recorded.root().reject("outputs, or an error");
  if (auto outputs = recorded.find("outputs"))
    for (const CaseField& output : outputs->items())
      in.outputs.push_back(read_result(output, in.mesh.world));
  if (auto comm = recorded.find("comm")) in.comm = read_tally(*comm);
  if (auto comm = recorded.find("comm_backward")) in.comm_backward = read_tally(*comm);
  if (auto rtol = recorded.find("rtol")) in.closeness = {rtol->number(), 1e-12};
  if (recorded.has("outputs") && !in.comm)
    recorded.root().reject("comm, the collectives of the call");
  auto aten = recorded.find("aten"), used = recorded.find("used");
  if (aten.has_value() != used.has_value() || (aten && recorded.has("steps")))
    recorded.root().reject("aten and used, or steps");
  if (auto steps = recorded.find("steps"))
    in.steps = read_function_steps(*steps, in.mesh.shape.size());
  if (!used) return;
  in.aten = aten->text();
  in.used.emplace();
  for (const CaseField& one : used->items()) {
    in.used->emplace_back();
    if (!one.is_null()) in.used->back() = read_case_placements(one);
  }
  if (!recorded.has("error")) return;
  // The call was refused afterwards, so no run is compared with them.
  bool fits = in.used->size() == in.inputs.size();
  for (const auto& placements : *in.used)
    fits = fits && (!placements || placements->size() == in.mesh.shape.size());
  if (!fits) used->reject("placements of each input on each mesh dim");
}

}  // namespace

Schema op_input_schema() {
  using namespace schema;
  return named("input of an op", [] {
    Schema dtype = word({"float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8",
                         "bool", "complex64", "complex128"});
    return formula_schema({required("shape", shape_schema()), required("dtype", std::move(dtype)),
                           required("placements", or_null(case_placements_schema())),
                           optional("mesh", mesh_schema())});
  });
}

OpInput::OpInput(const CaseField& field, const CaseMesh& mesh) : mesh_(own_mesh(field, mesh)) {
  is_complex_ = is_complex_dtype(field["dtype"].text());
  tensor_ = read_input_tensor(field, is_complex_);
  std::int64_t copies = 4 * std::max<std::int64_t>(numel(mesh_.shape), 1);
  require_elements(field, tensor_.shape, copies);
  if (auto placements = field.find("placements"); placements && !placements->is_null()) {
    placements_ = read_case_placements(*placements);
    for (const Placement& placement : placements_)
      if (placement.kind() == Placement::Kind::mask_partial)
        placements->reject("placements that say all of the data, not MaskP");
    if (placements_.size() != mesh_.shape.size())
      placements->reject(fmt::format("one for each of {} mesh dims", mesh_.shape.size()));
    source_ = std::make_shared<const CaseSource>(tensor_, mesh_.shape, Sharding{placements_, {}});
  }
}

bool OpInput::wants_gradient() const {
  return is_distributed() && !is_complex_ && is_floating_point(tensor_.data.dtype);
}

Tensor OpInput::local(DimSpan coordinate) const {
  Tensor piece = source_->local(coordinate);
  return is_complex_ ? stack({piece, zeros(piece.shape(), piece.dtype())}, -1) : piece;
}

Tensor OpInput::on(std::int64_t rank) const {
  if (!is_distributed()) {
    Tensor whole = formula(tensor_.shape, tensor_.data);
    return is_complex_ ? stack({whole, zeros(whole.shape(), whole.dtype())}, -1) : whole;
  }
  DeviceMesh mesh = mesh_.view(rank);
  Shape shape = tensor_.shape;
  if (is_complex_) shape.push_back(2);
  return from_local(local(*mesh.get_coordinate()), mesh, placements_, {.shape = shape}).as_tensor();
}

PythonArguments OpCase::arguments(gsl::span<const Tensor> tensors_of_inputs) const {
  PythonArguments result;
  for (const PythonValue& value : positional)
    result.positional.push_back(value.with_inputs(tensors_of_inputs));
  for (const auto& [keyword, value] : keywords)
    result.keywords[keyword] = value.with_inputs(tensors_of_inputs);
  return result;
}

std::vector<std::optional<std::size_t>> OpCase::tensors_of_operator() const {
  std::string_view name = std::string_view(function).substr(function.rfind('.') + 1);
  std::vector<std::optional<std::size_t>> tensors;
  auto add = [&](const PythonValue& value) {
    for (std::size_t input : value.inputs()) tensors.emplace_back(input);
    if (name == "where" && value.as_number()) tensors.emplace_back();
  };
  for (const PythonValue& value : positional) add(value);
  for (const auto& [keyword, value] : keywords) add(value);
  // view_as, expand_as and their like take no more than the shape or the dtype of the second one.
  if (name.ends_with("_as") && tensors.size() > 1) tensors.resize(1);
  std::vector<std::optional<std::size_t>> ordered;
  for (std::size_t place : operator_order(function, tensors.size()))
    ordered.push_back(tensors[place]);
  return ordered;
}

Schema op_schema() { return schema::object(call_fields()); }

Schema op_grad_schema() {
  using namespace schema;
  Fields fields = call_fields();
  fields.push_back(optional("grad_output", op_input_schema()));
  fields.push_back(expected("grads", list(or_null(result_schema(true))))
                       .or_absent()
                       .or_fewer("a target of 0 and 1 may have no gradient"));
  fields.push_back(expected("comm_backward", tally_schema(call_collectives)).or_absent());
  fields.push_back(optional("error_in", word({"backward"})));
  return object(std::move(fields));
}

OpCase read_op_case(const RecordedCase& recorded) {
  OpCase in;
  in.mesh = read_fitting_mesh(recorded);
  if (in.mesh.world > op_ranks_max)
    recorded.root().reject(fmt::format("a world of at most {} ranks", op_ranks_max));
  for (const CaseField& input : recorded["inputs"].items(inputs_max))
    in.inputs.emplace_back(input, in.mesh);
  in.function = function_of(recorded, in.inputs);
  auto read = [&](const CaseField& field) { return read_python_value(field, in.inputs.size()); };
  for (const CaseField& argument : recorded["args"].items())
    in.positional.push_back(read(argument));
  if (auto kwargs = recorded.find("kwargs"))
    for (const std::string& name : kwargs->keys()) in.keywords[name] = read((*kwargs)[name]);
  read_results(recorded, in);
  if (recorded.kind() != "op_grad") return in;
  bool has_gradients = recorded.has("grads");
  if (has_gradients == recorded.has("error") || has_gradients != recorded.has("comm_backward") ||
      (has_gradients && !(recorded.has("grad_output") && recorded.has("outputs"))))
    recorded.root().reject("outputs, grad_output, grads and comm_backward, or an error");
  read_gradients(recorded, in);
  if (auto gradient = recorded.find("grad_output")) in.grad_output.emplace(*gradient, in.mesh);
  if (in.comm_backward && !in.grad_output)
    recorded.root().reject("grad_output, since there are collectives of a backward pass");
  return in;
}

}  // namespace simmesh
