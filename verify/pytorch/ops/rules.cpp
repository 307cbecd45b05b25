#include <algorithm>
#include <fmt/format.h>

#include "core/check/join_text.h"
#include "core/ops/compute_mode.h"
#include "core/ops/shapes/joining.h"
#include "sharding/dtensor/dispatched_op.h"
#include "sharding/dtensor/dtensor.h"
#include "verify/case_kind.h"
#include "verify/case_world.h"
#include "verify/pytorch/case_source.h"
#include "verify/pytorch/ops/complex_pairs.h"
#include "verify/pytorch/ops/op_case.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

constexpr std::size_t combinations_max = 4096;

// Row is a rule of an op on one mesh dim: the placements of the inputs, which don't move, and of
// the outputs, empty for a result that is no tensor.
struct Row {
  Placements inputs;
  std::vector<std::string> outputs;
};

struct RulesCase {
  CaseMesh mesh;
  std::string function;
  std::vector<CaseTensor> inputs;
  std::vector<bool> is_complex;
  std::vector<PythonValue> positional;
  std::map<std::string, PythonValue> keywords;
  std::vector<Placements> combinations;
  std::vector<Row> rows;
};

// The result of one combination of placements.
struct CombinationTrial {
  bool stays = false;  // no input moved
  bool is_right = false;
  std::vector<std::string> outputs;
};

Schema rules_schema() {
  using namespace schema;
  Schema dtype = word({"float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8",
                       "bool", "complex64", "complex128"});
  Schema input = object({required("shape", shape_schema()), required("dtype", std::move(dtype))});
  Schema row = tuple({case_placements_schema(), list(or_null(text()))});
  return object({required("op", text()), required("mesh", mesh_schema()),
                 required("inputs", list(std::move(input), {.max = 64})),
                 required("args", list(python_value_schema())),
                 optional("kwargs", map(python_value_schema())),
                 required("candidates", list(case_placements_schema(), {.max = 64})),
                 expected("tried", integer({.min = 0})), expected("rows", list(std::move(row)))});
}

// Returns numbers that every op takes: indices are below 2.
CaseTensor tensor_of(const CaseField& field, std::uint64_t seed) {
  CaseTensor tensor{.shape = field["shape"].shape(), .data = {}};
  tensor.data.dtype = real_dtype(field["dtype"].text());
  tensor.data.seed = seed;
  tensor.data.rule = Rule::small;
  if (tensor.data.dtype == DType::boolean) tensor.data.rule = Rule::boolean;
  if (!is_floating_point(tensor.data.dtype) && tensor.data.dtype != DType::boolean) {
    tensor.data.rule = Rule::index;
    tensor.data.below = 2;
  }
  return tensor;
}

Row read_row(const CaseField& field) {
  std::vector<CaseField> parts = field.items();
  Row row{.inputs = read_case_placements(parts[0]), .outputs = {}};
  for (const CaseField& output : parts[1].items()) {
    std::string text = output.is_null() ? "" : output.text();
    row.outputs.push_back(text.starts_with("_NormP(") ? text.substr(1) : text);
  }
  return row;
}

// Returns all combinations of the candidates of each input.
std::vector<Placements> read_combinations(const RecordedCase& recorded) {
  std::vector<Placements> combinations(1);
  CaseField candidates = recorded["candidates"], tried = recorded["tried"];
  for (const CaseField& field : candidates.items()) {
    Placements options = read_case_placements(field);
    std::vector<Placements> longer;
    for (const Placements& begun : combinations)
      for (const Placement& option : options) {
        longer.push_back(begun);
        longer.back().push_back(option);
        if (longer.size() > combinations_max)
          candidates.reject(fmt::format("at most {} combinations", combinations_max));
      }
    combinations = std::move(longer);
  }
  if (std::size_t(tried.integer()) != combinations.size())
    tried.reject(fmt::format("the {} combinations of the candidates", combinations.size()));
  return combinations;
}

RulesCase read_rules_case(const RecordedCase& recorded) {
  RulesCase in{.mesh = read_fitting_mesh(recorded), .function = recorded["op"].text()};
  if (in.mesh.shape != Shape{2}) recorded["mesh"].reject("one mesh dim of two ranks");
  for (const CaseField& input : recorded["inputs"].items()) {
    in.is_complex.push_back(is_complex_dtype(input["dtype"].text()));
    in.inputs.push_back(tensor_of(input, in.inputs.size() + 1));
    require_elements(input, in.inputs.back().shape, 64 * in.mesh.world);
  }
  in.function = function_on(in.function, in.is_complex);
  for (const CaseField& argument : recorded["args"].items())
    in.positional.push_back(read_python_value(argument, in.inputs.size()));
  if (auto kwargs = recorded.find("kwargs"))
    for (const std::string& name : kwargs->keys())
      in.keywords[name] = read_python_value((*kwargs)[name], in.inputs.size());
  for (const CaseField& row : recorded["rows"].items()) in.rows.push_back(read_row(row));
  in.combinations = read_combinations(recorded);
  auto next = in.combinations.begin();
  for (const Row& row : in.rows) {
    next = std::find(next, in.combinations.end(), row.inputs);
    if (next == in.combinations.end())
      recorded["rows"].reject("combinations of the candidates, in their order");
    ++next;
  }
  for (const Placements& combination : in.combinations)
    if (combination.size() != in.inputs.size())
      recorded.root().reject(fmt::format("placements for each of {} inputs", in.inputs.size()));
  return in;
}

std::vector<PythonValue> called(const RulesCase& in, gsl::span<const Tensor> inputs) {
  PythonArguments arguments;
  for (const PythonValue& value : in.positional)
    arguments.positional.push_back(value.with_inputs(inputs));
  for (const auto& [name, value] : in.keywords)
    arguments.keywords[name] = value.with_inputs(inputs);
  return flat(call_python(in.function, arguments));
}

Tensor paired(const Tensor& piece, bool is_complex) {
  return is_complex ? stack({piece, zeros(piece.shape(), piece.dtype())}, -1) : piece;
}

std::string name_of(const PythonValue& result) {
  const Tensor* tensor = result.find<Tensor>();
  if (tensor == nullptr || !tensor->distribution()) return "";
  return to_string(PlacementSpan(DTensor::of(*tensor).placements()));
}

bool same_whole(const PythonValue& actual, const PythonValue& expected) {
  const Tensor *a = actual.find<Tensor>(), *b = expected.find<Tensor>();
  if (!a || !b)
    return !a == !b && actual.as_number() && expected.as_number() &&
           actual.as_number()->as<double>() == expected.as_number()->as<double>();
  Tensor whole = a->distribution() ? DTensor::of(*a).full_tensor() : *a;
  return whole.shape() == b->shape() && whole.dtype() == b->dtype() &&
         bits_without_signs_of_zero(whole) == bits_without_signs_of_zero(*b);
}

CombinationTrial try_combination(const RulesCase& in, const Placements& combination, Rank& rank) {
  NoGrad scope;
  CombinationTrial trial;
  DeviceMesh mesh = in.mesh.view(rank.id());
  std::vector<Tensor> inputs, whole;
  for (std::size_t i = 0; i < in.inputs.size(); ++i) {
    CaseSource source(in.inputs[i], in.mesh.shape, {{combination[i]}, {}});
    Shape shape = in.inputs[i].shape;
    if (in.is_complex[i]) shape.push_back(2);
    Tensor piece = paired(source.local(*mesh.get_coordinate()), in.is_complex[i]);
    inputs.push_back(from_local(piece, mesh, {combination[i]}, {.shape = shape}).as_tensor());
    whole.push_back(DTensor::of(inputs[i]).full_tensor().clone());
  }
  bool moved = false;
  auto counted = rank.counters();
  std::vector<PythonValue> results;
  try {
    DispatchScope observed([&](const DispatchedOp& op) { moved |= op.used != op.given; });
    results = called(in, inputs);
  } catch (const Error&) {
    return trial;
  }
  trial.stays = !moved && (tally_since(counted, rank, call_collectives).empty() ||
                           name_of(results[0]).empty());
  for (const PythonValue& result : results) trial.outputs.push_back(name_of(result));
  if (!trial.stays) return trial;
  std::vector<PythonValue> wanted = called(in, whole);
  trial.is_right = wanted.size() == results.size();
  for (std::size_t i = 0; trial.is_right && i < results.size(); ++i)
    trial.is_right = same_whole(results[i], wanted[i]);
  return trial;
}

void compare(const RulesCase& in, const std::vector<CombinationTrial>& trials, CaseReport& report) {
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Placements& combination = in.combinations[i];
    const CombinationTrial& trial = trials[i];
    std::string given = to_string(PlacementSpan(combination));
    std::string outputs = join_text(trial.outputs, ",");
    auto row = std::find_if(in.rows.begin(), in.rows.end(),
                            [&](const Row& one) { return one.inputs == combination; });
    if (row == in.rows.end()) {
      if (!trial.stays) continue;
      report.mismatch(fmt::format("expected no rule, got {} -> {}{}", given, outputs,
                                  trial.is_right ? "" : ", which is wrong"));
      continue;
    }
    std::string expected = join_text(row->outputs, ",");
    if (!trial.stays)
      report.mismatch(fmt::format("expected the rule {} -> {}, got none", given, expected));
    else
      report.expect_equal(fmt::format("the outputs of {}", given), row->outputs, trial.outputs);
  }
}

void verify_rules(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report) {
  RulesCase in = read_rules_case(recorded);
  std::vector<CombinationTrial> trials(in.combinations.size());
  World world(world_options(options, in.mesh.world));
  auto error = run_case(
      world,
      [&](Rank& rank) {
        for (std::size_t i = 0; i < trials.size(); ++i) {
          CombinationTrial trial = try_combination(in, in.combinations[i], rank);
          if (rank.id() == 0) trials[i] = std::move(trial);
        }
      },
      report);
  if (error) return report.mismatch(fmt::format("refused: {}", error->what()));
  if (!report.failed()) compare(in, trials, report);
}

const CaseKind rules_kind(
    {.name = "rules",
     .summary = "which placements an op takes as they are, and what comes out",
     .schema = rules_schema,
     .verifier = verify_rules});

}  // namespace

}  // namespace simmesh
