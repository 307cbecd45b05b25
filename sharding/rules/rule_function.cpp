#include "sharding/rules/rule_function.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/registry/registry.h"
#include "sharding/strategies/strategy_of.h"
#include "sharding/validate/claimed_rules.h"

namespace simmesh {

namespace {

const Op& op_named(const std::string& name) {
  const Op* op = find_op(name);
  if (!op) raise(ErrorKind::value_error, "rules", "expected the name of an op, got '{}'", name);
  return *op;
}

// Returns the row as the author of a rule writes it, or nothing where its text can't say it.
std::optional<std::string> text_of(const StrategyRow& row) {
  RuleRow result;
  for (const auto& entry : row.inputs) result.inputs.push_back(entry.value_or(Replicate()));
  for (const auto& entry : row.outputs) {
    if (!entry) return std::nullopt;
    result.outputs.push_back(*entry);
  }
  std::string text = to_string(result);
  try {
    parse_rule(text);
  } catch (const Error&) {
    return std::nullopt;
  }
  return text;
}

// Returns the placements that a rule's text can give to an input.
std::vector<Placement> candidates_of(const RuleInput& input) {
  std::vector<Placement> list = {Replicate()};
  for (std::size_t dim = 0; dim < input.dims.size(); ++dim)
    list.push_back(Shard(std::int64_t(dim)));
  if (input.values.is_defined()) return list;
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max})
    list.push_back(Partial(op));
  return list;
}

}  // namespace

void RuleFunction::check_count(std::size_t expected, std::size_t got) {
  if (expected != got)
    raise(ErrorKind::value_error, "rules", "expected {} inputs, as the function takes, got {}",
          expected, got);
}

RuleFunction::Outputs RuleFunction::call(Inputs inputs, const DeviceMesh* mesh) const {
  SIMMESH_CHECK(!communicates() || mesh, "a function that communicates runs without a mesh");
  Outputs outputs = communicates() ? on_ranks_(inputs, *mesh) : local_(inputs);
  for (const Tensor& output : outputs)
    if (!output.is_defined())
      raise(ErrorKind::type_error, "rules",
            "expected a function that returns tensors, got an undefined one");
  return outputs;
}

RuleFunction registered_op(const std::string& name, Attributes attributes) {
  return [&op = op_named(name), attributes = std::move(attributes)](RuleFunction::Inputs inputs) {
    return simmesh::call(op, inputs, attributes);
  };
}

RuleText registered_rule(const std::string& name, gsl::span<const RuleInput> inputs,
                         const Attributes& attributes) {
  const Op& op = op_named(name);
  const ShardingStrategy* strategy = strategy_of(op);
  constexpr std::int64_t ranks = 2;
  static constexpr RulePieces even[] = {RulePieces::even};
  InputCandidates candidates;
  std::vector<Tensor> whole;
  for (const RuleInput& input : inputs) candidates.push_back(candidates_of(input));
  RuleShapes shapes = rule_shapes(inputs, {}, ranks, even).front();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    whole.push_back(zeros(
        shapes[i], inputs[i].values.is_defined() ? inputs[i].values.dtype() : DType::float32));
  std::vector<std::string> rows;
  if (strategy && !strategy->decomposition)
    for (const StrategyRow& row : claimed_rules(whole_call(op, *strategy, attributes, whole),
                                                candidates, ranks, ShortDims::allowed))
      if (std::optional<std::string> text = text_of(row)) rows.push_back(std::move(*text));
  if (rows.empty())
    raise(ErrorKind::value_error, "rules", "expected an op with rows of its own, got '{}'", name);
  return RuleText(std::move(rows));
}

}  // namespace simmesh
