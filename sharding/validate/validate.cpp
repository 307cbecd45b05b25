#include "sharding/validate/validate.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/engine/ordered_jobs.h"
#include "core/ops/registry/registry.h"
#include "core/samples/samples_of.h"
#include "sharding/strategies/strategy_of.h"

namespace simmesh {

namespace {

struct Unit {
  std::size_t op;  // in the result
  const Op* definition;
  const OpSample* sample;
};

std::vector<const Op*> asked_ops(const std::vector<std::string>& names) {
  if (names.empty()) return {all_ops().begin(), all_ops().end()};
  std::vector<const Op*> ops;
  for (const std::string& name : names) {
    const Op* op = find_op(name);
    if (!op)
      raise(ErrorKind::value_error, "sharding/validate", "expected the name of an op, got '{}'",
            name);
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
  }
  return ops;
}

std::uint64_t wrong_in(const std::map<std::string, RuleVerdict>& rules) {
  return std::uint64_t(std::count_if(rules.begin(), rules.end(),
                                     [](const auto& rule) { return rule.second.wrong; }));
}

}  // namespace

OpVerdict::Way way_of(const Op& op) {
  const ShardingStrategy* strategy = strategy_of(op);
  if (!strategy) return OpVerdict::Way::none;
  if (strategy->decomposition) return OpVerdict::Way::decomposed;
  if (strategy->over_mesh) return OpVerdict::Way::over_mesh;
  return strategy->rows ? OpVerdict::Way::rules : OpVerdict::Way::replicated;
}

std::string_view to_string(OpVerdict::Way way) {
  switch (way) {
    case OpVerdict::Way::rules: return "rules";
    case OpVerdict::Way::over_mesh: return "rules over all mesh dims";
    case OpVerdict::Way::decomposed: return "as other ops";
    case OpVerdict::Way::replicated: return "replicated only";
    case OpVerdict::Way::none: return "none";
  }
  return "";
}

RuleCounts& RuleCounts::operator+=(const RuleCounts& other) {
  rules += other.rules;
  wrong += other.wrong;
  missing += other.missing;
  combinations += other.combinations;
  return *this;
}

RuleCounts OpVerdict::counts() const {
  RuleCounts sum;
  for (const SampleVerdict& sample : samples)
    sum += {.rules = sample.rules.size(),
            .wrong = wrong_in(sample.rules) + wrong_in(sample.over_two_dims),
            .missing = sample.missing.size(),
            .combinations = sample.combinations};
  return sum;
}

RuleCounts ValidateResult::counts() const {
  RuleCounts sum;
  for (const OpVerdict& op : ops) sum += op.counts();
  return sum;
}

std::uint64_t op_count(const ValidateRequest& request) { return asked_ops(request.ops).size(); }

ValidateResult validate(const ValidateRequest& request) {
  ValidateResult result;
  std::vector<Unit> units;
  std::vector<const Op*> asked = asked_ops(request.ops);
  for (std::uint64_t i = 0; i < request.shard.jobs_of(asked.size()); ++i) {
    const Op* op = asked[request.shard.job(i)];
    for (const OpSample* sample : samples_of(*op)) units.push_back({result.ops.size(), op, sample});
    result.ops.push_back({op->name, way_of(*op), {}});
  }
  std::uint64_t done = 0, failed = 0;
  auto goes_on = [&] {
    bool goes = !request.goes_on || request.goes_on({"sample calls", done, units.size(), failed});
    result.interrupted = !goes;
    return goes;
  };
  auto make_worker = [&] {
    return [&](std::uint64_t number) {
      const Unit& unit = units[number];
      return validate_sample(*unit.definition, *unit.sample, request.options);
    };
  };
  auto take = [&](std::uint64_t number, SampleVerdict verdict) {
    ++done;
    failed += wrong_in(verdict.rules) + wrong_in(verdict.over_two_dims);
    result.ops[units[number].op].samples.push_back(std::move(verdict));
    return true;
  };
  run_ordered<SampleVerdict>({.count = units.size(), .threads = request.jobs, .goes_on = goes_on},
                             make_worker, take);
  return result;
}

}  // namespace simmesh
