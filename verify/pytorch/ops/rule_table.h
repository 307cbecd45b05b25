#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharding/strategies/strategy.h"
#include "sharding/validate/captured_call.h"
#include "verify/pytorch/ops/python_call.h"
#include "verify/recorded_case.h"

namespace simmesh {

// RuleTable is a recorded case of kind rules: a call of a function of PyTorch, and the rules that
// somebody claims of it on a mesh of one dim.
struct RuleTable {
  struct Input {
    Shape shape;
    DType dtype;
    bool is_complex;  // then it has pairs of real numbers in a last dim of 2
  };

  std::string id;
  std::string function;
  std::int64_t members = 2;
  std::vector<Input> inputs;
  std::vector<PythonValue> positional;
  std::map<std::string, PythonValue> keywords;
  StrategyRows rows;

  // call runs the function on tensors in the places of the inputs; results that are no tensors are
  // undefined ones.
  std::vector<Tensor> call(gsl::span<const Tensor> tensors) const;
};

// read_rule_table reads such a case. Raises a BadCase where a field is wrong.
RuleTable read_rule_table(const RecordedCase& recorded);

// RuleTableVerdict is what came of a table.
struct RuleTableVerdict {
  struct Refuted {
    std::string rule;    // "S(0) -> S(0)"
    std::string inputs;  // "float32[4, 6] S(0)"
    std::string what;    // what differs
  };

  std::string id;
  std::string function;
  std::uint64_t rule_count = 0;  // those of replicated inputs included
  std::uint64_t trials = 0;
  std::vector<Refuted> refuted;
  // Rules of ours that hold and that the table doesn't have, where the function is one op.
  std::vector<std::string> beyond;
};

// judge_rule_table judges every row on several sets of data and crafted splits, in exact
// arithmetic, and looks for rules of ours that the table lacks. A table whose function can't be run
// on whole tensors is refuted in all rows.
RuleTableVerdict judge_rule_table(const RuleTable& table, std::uint64_t seed);

}  // namespace simmesh
