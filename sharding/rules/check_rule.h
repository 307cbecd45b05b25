#pragma once

#include "sharding/rules/rule_check.h"
#include "sharding/rules/rule_function.h"
#include "sharding/rules/rule_options.h"

namespace simmesh {

// check_rule judges a sharding rule of a function by its values, with no tolerance: if the inputs
// lie on the ranks as a row says, the function on each rank's pieces gives outputs that lie as the
// row says, and so do the gradients of the inputs. A mesh of two dims has every pair of rows.
// Inputs may be left out for a rule of letters.
//
//   RuleCheck check = check_rule([](auto& x, auto& w) { return matmul(x, w); },
//                                "S(0), R -> S(0)", {"mk", "kn"});
//   check.holds();   // true
//   check.text();    // "rule of function: confirmed ..."
//
// Raises a ValueError for a rule, inputs or options that can't be read and for another number of
// outputs than the rule has, and a RuntimeError for a function that raises at all sizes.
RuleCheck check_rule(const RuleFunction& function, const RuleText& rule,
                     std::vector<RuleInput> inputs = {}, const CheckRuleOptions& options = {});

// check_registered_rule judges the rows that the library has for an op by the same trials. Raises
// as registered_rule does.
RuleCheck check_registered_rule(const std::string& op, std::vector<RuleInput> inputs,
                                const Attributes& attributes = {}, CheckRuleOptions options = {});

}  // namespace simmesh
