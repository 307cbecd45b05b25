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
// are claimed for it on a mesh of one dim.
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

  // call runs the function on tensors in the places of the inputs. A result that is no tensor
  // becomes an undefined one.
  std::vector<Tensor> call(gsl::span<const Tensor> tensors) const;
};

// read_rule_table reads such a case. Raises a BadCase for a field that is wrong.
RuleTable read_rule_table(const RecordedCase& recorded);

// RuleTableVerdict is the verdict on a table.
struct RuleTableVerdict {
  struct Refuted {
    std::string rule;    // "S(0) -> S(0)"
    std::string inputs;  // "float32[4, 6] S(0)"
    std::string what;    // the difference
  };

  std::string id;
  std::string function;
  std::uint64_t rule_count = 0;  // includes rules for replicated inputs
  std::uint64_t trials = 0;
  std::vector<Refuted> refuted;
  // Our rules that hold and that the table doesn't have, where the function is one op.
  std::vector<std::string> beyond;
};

// judge_rule_table judges every row on several sets of data and crafted splits, in exact
// arithmetic, and looks for rules of ours that the table lacks. If the function can't be run on
// whole tensors, all rows are refuted.
RuleTableVerdict judge_rule_table(const RuleTable& table, std::uint64_t seed);

}  // namespace simmesh
