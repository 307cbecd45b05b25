#pragma once

#include <cstdint>
#include <string_view>

#include "core/tensor/tensor.h"

namespace simmesh {

// Rule names how the data formula turns a random word into an element; tests/cases/README.md has
// the table.
enum class Rule : std::uint8_t { wide, small, unit, positive, index, boolean };
std::string_view to_string(Rule rule);
// rule_from_string raises a ValueError that lists the known names; "bool" is boolean.
Rule rule_from_string(std::string_view name);

// Formula describes tensor data without holding any: element i of the logical tensor depends on the
// seed and on i alone.
struct Formula {
  Rule rule = Rule::wide;
  std::uint64_t seed = 0;
  double scale = 1.0;       // of rule unit
  std::uint64_t below = 1;  // of rule index
  DType dtype = DType::float32;
};

// formula_word is the formula's random word of element i: splitmix64 of the mixed seed plus i.
std::uint64_t formula_word(std::uint64_t seed, std::uint64_t i);

// formula returns the whole logical tensor. Raises a ValueError for a rule that the dtype doesn't
// have (unit with an integer dtype) and for below = 0.
Tensor formula(DimSpan shape, const Formula& data);
inline Tensor formula(std::initializer_list<std::int64_t> shape, const Formula& data) {
  return formula(DimSpan(shape.begin(), shape.size()), data);
}

}  // namespace simmesh
