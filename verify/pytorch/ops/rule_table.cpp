#include "verify/pytorch/ops/rule_table.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/engine/options/arithmetic.h"
#include "core/ops/compute_mode.h"
#include "core/samples/op_sample.h"
#include "core/tensor/convert.h"
#include "sharding/strategies/strategy_of.h"
#include "sharding/validate/claimed_rules.h"
#include "sharding/validate/crafted_inputs.h"
#include "sharding/validate/outputs_difference.h"
#include "sharding/validate/rule_text.h"
#include "sharding/validate/world_run.h"
#include "verify/pytorch/ops/complex_pairs.h"
#include "verify/pytorch/ops/op_result.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

using Flavor = SampleData::Flavor;

StrategyRow::Entries read_inputs(const CaseField& field) {
  StrategyRow::Entries entries;
  for (const Placement& placement : read_case_placements(field)) entries.push_back(placement);
  return entries;
}

StrategyRow::Entries read_outputs(const CaseField& field) {
  StrategyRow::Entries entries;
  for (const CaseField& output : field.items()) {
    if (output.is_null()) {
      entries.emplace_back();
      continue;
    }
    std::string text = output.text();
    try {
      entries.push_back(parse_placement(text.starts_with("_NormP(") ? text.substr(1) : text));
    } catch (const Error&) {
      output.reject("a placement");
    }
  }
  return entries;
}

// Raises a BadCase for a row of another number of inputs, and for a shard of a dim that an input
// doesn't have.
void check_row(const StrategyRow& row, const RuleTable& table, const CaseField& field) {
  if (row.inputs.size() != table.inputs.size())
    field.reject(fmt::format("placements for each of {} inputs", table.inputs.size()));
  for (std::size_t i = 0; i < row.inputs.size(); ++i)
    if (row.inputs[i]->splits() &&
        (row.inputs[i]->dim() < 0 ||
         row.inputs[i]->dim() >= std::int64_t(table.inputs[i].shape.size())))
      field.reject(fmt::format("a shard of one of {} dims", table.inputs[i].shape.size()));
}

// TableTrial is one trial of the whole call.
struct TableTrial {
  SampleData data;
  bool small_indices = true;  // integers are 0 or 1, as indices may be
};

// Returns trials of all kinds. A trial counts only if the function takes its data.
std::vector<TableTrial> table_trials(std::uint64_t seed) {
  std::vector<TableTrial> trials;
  for (bool small_indices : {true, false})
    for (Flavor flavor : {Flavor::small, Flavor::fractions, Flavor::wide})
      for (bool negated : {false, true})
        trials.push_back({{seed * 64 + trials.size(), flavor, negated}, small_indices});
  return trials;
}

// Returns the kind of an input's elements, by its letter in samples. Factors and divisors are
// powers of two, so that no quotient rounds, nor any product of all elements.
char elements_of(const RuleTable& table, std::size_t input, const TableTrial& trial) {
  const RuleTable::Input& one = table.inputs[input];
  auto calls = [&](std::string_view name) {
    return table.function.find(name) != std::string::npos;
  };
  if (one.dtype == DType::boolean) return 'b';
  if (!is_floating_point(one.dtype)) return trial.small_indices ? 'i' : 'n';
  bool is_searched = calls("bucketize") || calls("searchsorted");
  if (is_searched && one.shape.size() == 1) return 's';
  return input > 0 || calls("prod") ? 'q' : 'f';
}

Tensor drawn(const RuleTable& table, std::size_t input, const TableTrial& trial) {
  Shape shape = table.inputs[input].shape;
  if (table.inputs[input].is_complex) shape.push_back(2);
  char elements = elements_of(table, input, trial);
  std::string words = elements == 'i' ? "i<2:a" : fmt::format("{}:a", elements);
  SampleSizes sizes;
  sizes.set('a', numel(shape));
  SampleData data = trial.data;
  data.seed = data.seed * 16 + input;
  return converted(sample_inputs({"", words}, sizes, data)[0].view(shape),
                   table.inputs[input].dtype);
}

// WholeFunction is a table's call on whole tensors. If it is one op, its arguments follow the
// pieces; otherwise the function is called on the pieces as it is.
class WholeFunction {
 public:
  WholeFunction(const RuleTable& table, std::vector<Tensor> inputs)
      : table_(table), inputs_(std::move(inputs)) {
    seen_ = capture(inputs_, [&](gsl::span<const Tensor> in) { return table.call(in); });
    if (!is_one_op()) return;
    const CapturedCall& call = seen_.calls[0];
    const ShardingStrategy* strategy = strategy_of(*call.op);
    if (strategy && !strategy->decomposition)
      op_.emplace(whole_call(*call.op, *strategy, call.attributes, call.inputs));
  }

  const std::optional<WholeCall>& op() const { return op_; }

  // Returns the rule of the op that a row of the table stands for.
  StrategyRow rule_of_op(const StrategyRow& row) const {
    StrategyRow rule;
    for (const auto& input : seen_.calls[0].of_function)
      rule.inputs.push_back(input ? row.inputs[*input] : std::optional(Replicate()));
    rule.outputs = row.outputs;
    return rule;
  }

  // Returns the difference in words, empty where the row holds.
  std::string difference(const StrategyRow& row, const LocalRun& world, std::uint64_t seed) const {
    if (op_) return difference_of_op(rule_of_op(row), world, seed);
    KeepUnrounded scope;
    WholeCall whole = as_call();
    MeshPlacements placements = along_one_dim(row);
    CraftedInputs crafted(whole, world.mesh_shape(), seed);
    auto pieces = crafted.of(placements);
    LocalOutputs outputs;
    for (std::size_t rank = 0; rank < world.ranks(); ++rank) {
      std::vector<Tensor> own;
      for (const auto* of_input : pieces)
        own.push_back(of_input->empty() ? Tensor() : (*of_input)[rank].clone());
      outputs.of_rank.push_back(table_.call(own));
    }
    return outputs_difference(whole, outputs, placements, world.mesh_shape());
  }

  // The same for a rule of the one op.
  std::string difference_of_op(const StrategyRow& rule, const LocalRun& world,
                               std::uint64_t seed) const {
    KeepUnrounded scope;
    MeshPlacements placements = along_one_dim(rule);
    // A result that is no tensor for the function is one for the op.
    MeshPlacements known = placements;
    for (auto& output : known.outputs)
      if (!output) output = Placements{Replicate()};
    CraftedInputs crafted(*op_, world.mesh_shape(), seed);
    return outputs_difference(*op_, run_claimed(world, *op_, crafted.of(known), known), placements,
                              world.mesh_shape());
  }

  std::size_t output_count() const { return seen_.outputs.size(); }

 private:
  bool is_one_op() const {
    if (seen_.calls.size() != 1 || seen_.calls[0].outputs.size() != seen_.outputs.size())
      return false;
    for (std::size_t i = 0; i < seen_.outputs.size(); ++i)
      if (seen_.outputs[i].is_defined() &&
          !same_bits(seen_.outputs[i], seen_.calls[0].outputs[i].contiguous()))
        return false;
    return true;
  }

  WholeCall as_call() const {
    static const Op composed = {.name = "composed"};
    static const ShardingStrategy none;
    WholeCall call{composed, none, {}, inputs_, seen_.outputs, {}, {}};
    for (const Tensor& input : inputs_) call.input_types.push_back(type_of(input));
    for (const Tensor& output : seen_.outputs)
      call.output_types.push_back(output.is_defined() ? type_of(output)
                                                      : TensorType{{}, DType::float32, false});
    return call;
  }

  const RuleTable& table_;
  std::vector<Tensor> inputs_;
  Capture seen_;
  std::optional<WholeCall> op_;
};

// Returns our rules for one op, in the order of the function's tensors.
StrategyRows beyond_of(const RuleTable& table, const WholeFunction& whole) {
  StrategyRows beyond;
  if (!whole.op()) return beyond;
  InputCandidates candidates;
  for (const TensorType& type : whole.op()->input_types) {
    auto& list = candidates.emplace_back();
    if (!type.is_defined) continue;
    list.push_back(Replicate());
    for (std::size_t dim = 0; dim < type.shape.size(); ++dim)
      list.push_back(Shard(std::int64_t(dim)));
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max})
      list.push_back(Partial(op));
  }
  std::vector<std::string> known;
  for (const StrategyRow& row : table.rows) {
    StrategyRow rule = whole.rule_of_op(row);
    rule.outputs.clear();
    known.push_back(rule_text(rule));
  }
  for (const StrategyRow& rule : claimed_rules(*whole.op(), candidates, table.members)) {
    StrategyRow inputs = rule;
    inputs.outputs.clear();
    if (std::find(known.begin(), known.end(), rule_text(inputs)) == known.end())
      beyond.push_back(rule);
  }
  return beyond;
}

void drop_wrong(StrategyRows& rules, const WholeFunction& whole, const LocalRun& world,
                std::uint64_t seed) {
  auto is_wrong = [&](const StrategyRow& rule) {
    try {
      return !whole.op() || !whole.difference_of_op(rule, world, seed).empty();
    } catch (const Error&) {
      return true;
    }
  };
  rules.erase(std::remove_if(rules.begin(), rules.end(), is_wrong), rules.end());
}

}  // namespace

std::vector<Tensor> RuleTable::call(gsl::span<const Tensor> tensors) const {
  PythonArguments arguments;
  for (const PythonValue& value : positional)
    arguments.positional.push_back(value.with_inputs(tensors));
  for (const auto& [name, value] : keywords) arguments.keywords[name] = value.with_inputs(tensors);
  NoGrad mode;
  std::vector<Tensor> results;
  for (const PythonValue& result : flat(call_python(function, arguments))) {
    const Tensor* tensor = result.find<Tensor>();
    results.push_back(tensor ? *tensor : Tensor());
  }
  return results;
}

RuleTable read_rule_table(const RecordedCase& recorded) {
  RuleTable table{.id = recorded.id(), .function = recorded["op"].text()};
  Shape mesh = recorded["mesh"]["shape"].shape();
  if (mesh.size() != 1 || mesh[0] < 1 || mesh[0] > 16)
    recorded["mesh"].reject("one mesh dim of at most 16 ranks");
  table.members = mesh[0];
  std::vector<bool> are_complex;
  for (const CaseField& input : recorded["inputs"].items(64)) {
    bool is_complex = is_complex_dtype(input["dtype"].text());
    are_complex.push_back(is_complex);
    Shape shape = input["shape"].shape();
    if (numel(shape) > 1 << 16) input["shape"].reject("at most 65536 elements");
    DType dtype = DType::float32;
    try {
      dtype = real_dtype(input["dtype"].text());
    } catch (const Error&) {
      input["dtype"].reject("the name of a dtype");
    }
    table.inputs.push_back({std::move(shape), dtype, is_complex});
  }
  table.function = function_on(table.function, are_complex);
  for (const CaseField& argument : recorded["args"].items())
    table.positional.push_back(read_python_value(argument, table.inputs.size()));
  if (auto kwargs = recorded.find("kwargs"))
    for (const std::string& name : kwargs->keys())
      table.keywords[name] = read_python_value((*kwargs)[name], table.inputs.size());
  for (const CaseField& field : recorded["rows"].items()) {
    std::vector<CaseField> parts = field.items();
    if (parts.size() != 2) field.reject("placements of the inputs, and of the outputs");
    table.rows.push_back(rule(read_inputs(parts[0]), read_outputs(parts[1])));
    check_row(table.rows.back(), table, field);
  }
  return table;
}

RuleTableVerdict judge_rule_table(const RuleTable& table, std::uint64_t seed) {
  static const Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  RuleTableVerdict verdict{.id = table.id,
                           .function = std::string(name_without_complex(table.function))};
  verdict.rule_count = table.rows.size();
  LocalRun world(Dims{table.members});
  std::vector<char> is_refuted(table.rows.size(), 0);
  StrategyRows beyond;
  std::string refusal = "no data that the function takes";
  for (const TableTrial& trial : table_trials(seed)) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < table.inputs.size(); ++i) inputs.push_back(drawn(table, i, trial));
    std::optional<WholeFunction> whole;
    try {
      whole.emplace(table, std::move(inputs));
    } catch (const Error& error) {
      refusal = error.what();
      continue;
    }
    if (++verdict.trials == 1) beyond = beyond_of(table, *whole);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const StrategyRow& row = table.rows[i];
      if (is_refuted[i]) continue;
      std::string wrong;
      try {
        wrong = row.outputs.size() < whole->output_count()
                    ? fmt::format("expected at least {} outputs, got {}", whole->output_count(),
                                  row.outputs.size())
                    : whole->difference(row, world, trial.data.seed);
      } catch (const Error& error) {
        wrong = fmt::format("raises {}", error.what());
      }
      if (wrong.empty()) continue;
      is_refuted[i] = 1;
      verdict.refuted.push_back({rule_text(row), fmt::format("seed {}", trial.data.seed), wrong});
    }
    drop_wrong(beyond, *whole, world, trial.data.seed);
  }
  for (const StrategyRow& rule : beyond) verdict.beyond.push_back(rule_text(rule));
  if (verdict.trials == 0)
    for (const StrategyRow& row : table.rows)
      verdict.refuted.push_back({rule_text(row), "no data", refusal});
  return verdict;
}

}  // namespace simmesh
