#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sharding/rules/rule_input.h"
#include "sharding/rules/rule_rows.h"

namespace simmesh {

// RuleCounterExample is the smallest trial found in which a rule doesn't hold.
struct RuleCounterExample {
  std::vector<RuleRow> rows;  // on each mesh dim
  Shape mesh;
  RuleShapes shapes;  // of the whole inputs
  std::string what;   // "output 0", "gradient of input 1"
  // The first element that differs: its index, "[0, 1]", and its values. Without an element they
  // are empty, and problem says what is wrong.
  std::string index, expected, got;
  std::string problem;

  // text returns it in one sentence.
  std::string text() const;
};

// RuleCheck is the verdict on a rule of a function. EXPECT_TRUE(check) fails in a test with its
// text if the rule doesn't hold.
//
//   RuleCheck check = check_rule([](const Tensor& t) { return t * 2; }, "S(0) -> S(0)", {"ab"});
//   check.holds();   // true
struct RuleCheck {
  std::string function;
  // A counter-example for each row, or pair of rows on a mesh of two dims, that doesn't hold.
  std::vector<RuleCounterExample> refuted;
  // Rows that hold on 2 and 3 ranks and that the rule doesn't have.
  std::vector<RuleRow> unclaimed;
  // The placements of the inputs on one mesh dim for which some placement of the outputs holds, and
  // those of them that the rule has. Both are 0 where they weren't looked for.
  std::uint64_t covered = 0, coverable = 0;
  std::uint64_t trials = 0;  // rows, mesh and sizes, each combination once
  // Sizes at which the function itself raises for whole inputs, with its error.
  std::vector<std::pair<RuleShapes, std::string>> refused;

  // holds is true if no row is refuted.
  bool holds() const { return refuted.empty(); }
  explicit operator bool() const { return holds(); }
  // counter_example returns the smallest one; null for a rule that holds.
  const RuleCounterExample* counter_example() const {
    return refuted.empty() ? nullptr : &refuted.front();
  }
  // text returns the verdict in a few lines.
  std::string text() const;

  // A RuleCheck converts to GoogleTest's AssertionResult and to types like it, with its text as the
  // message.
  template <class Result>
  requires requires(Result result, const Result& given, std::string text) {
    result << text;
    { given.message() } -> std::convertible_to<const char*>;
  }
  operator Result() const {
    Result result(holds());
    result << text();
    return result;
  }
};

}  // namespace simmesh
