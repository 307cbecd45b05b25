#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/recorded_case.h"

namespace simmesh {

// CaseFilter chooses cases. A case is chosen if every given condition holds for it.
//
//   CaseFilter filter{.kinds = CaseFilter::split("mesh,plan"), .id = "*/2x2/*"};
//   filter.where.push_back(CaseFilter::parse_where("tensor.dtype=\"float32\""));
struct CaseFilter {
  // Condition holds where the field at a dotted path, with indices for the entries of lists, exists
  // and is equal.
  struct Condition {
    std::string path;
    nlohmann::json value;
  };

  std::vector<std::string> kinds;  // empty: all
  std::vector<std::string> excluded_kinds;
  std::vector<Condition> where;
  std::string id;  // glob; empty: all

  // split cuts "mesh,plan" at the commas. Raises a ValueError for an empty part.
  static std::vector<std::string> split(std::string_view list);

  // parse_where reads FIELD=JSON. Raises a ValueError for anything else.
  static Condition parse_where(std::string_view text);

  bool matches(const RecordedCase& recorded) const;
};

// glob_matches is true if a pattern matches all of a text: '*' stands for any bytes, '?' for one,
// and a backslash removes the special meaning of the next character.
bool glob_matches(std::string_view pattern, std::string_view text);

// glob_literal returns the pattern that matches just this text.
std::string glob_literal(std::string_view text);

}  // namespace simmesh
