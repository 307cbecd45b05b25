#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/schedules/schedule.h"
#include "sharding/rules/rule_input.h"

namespace simmesh {

// RuleValues are the values of the inputs that are drawn. `any` draws floating numbers and computes
// in exact arithmetic, where no order of additions can hide or fake a difference. `whole` draws
// small whole numbers, and the function runs in canonical arithmetic.
enum class RuleValues : std::uint8_t { any, whole };

// CheckRuleOptions say how check_rule judges a rule. The names and defaults are those of
// simmesh.rulecheck in Python.
struct CheckRuleOptions {
  std::string name = "function";  // in the verdict
  std::vector<Shape> meshes = {Shape{2}, Shape{3}, Shape{4}, Shape{2, 2}};
  RuleValues values = RuleValues::any;
  bool backward = true;   // also judges the gradients of the inputs
  bool unclaimed = true;  // also looks for rows that hold and that the rule doesn't have
  std::vector<RulePieces> pieces = {RulePieces::even, RulePieces::uneven, RulePieces::few,
                                    RulePieces::none};
  std::uint64_t seed = 0;  // of the values
  // The schedules of the ranks, for a function that communicates.
  std::vector<Schedule> schedules = {Schedule::fifo(), Schedule::seeded(1),
                                     Schedule::pct({.depth = 3})};
};

}  // namespace simmesh
