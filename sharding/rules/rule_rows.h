#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/placement/placement.h"

namespace simmesh {

// RuleRow is one row of a rule: a placement for each input and each output along one mesh dim.
struct RuleRow {
  std::vector<Placement> inputs;
  std::vector<Placement> outputs;

  // is_replicated is true if all ranks do the same.
  bool is_replicated() const;
  bool operator==(const RuleRow&) const = default;
};

// to_string returns "S(0), R -> S(0)".
std::string to_string(const RuleRow& row);

// RuleText is a rule as its author writes it: rows of placements, one a line or in a list, or one
// einsum-like row of letters.
//
//   RuleText one = "S(0), R -> S(0)";
//   RuleText two = {"S(0), R -> S(0)", "S(1), S(0) -> P"};
//   RuleText letters = "mk, kn -> mn";
struct RuleText {
  RuleText(const char* text) : rows{text} {}
  RuleText(std::string text) : rows{std::move(text)} {}
  RuleText(std::initializer_list<std::string> texts) : rows(texts) {}
  explicit RuleText(std::vector<std::string> texts) : rows(std::move(texts)) {}

  std::vector<std::string> rows;
};

// RuleRows are the rows that a rule claims, and the letters of each input's dims where it has some.
struct RuleRows {
  std::vector<RuleRow> rows;
  std::optional<std::vector<std::string>> letters;
};

// parse_rule reads a rule. Placements are R, S(d), _S(d,sf) and P with sum, avg, min or max; P
// alone is a sum. Of letters each one is a row in which the dims of that letter are cut; one that
// an output lacks is summed, and a first row is replicated. Raises a ValueError for anything else,
// and for rows with different numbers of inputs or outputs.
RuleRows parse_rule(const RuleText& rule);

}  // namespace simmesh
