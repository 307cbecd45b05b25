#pragma once

#include <cstdint>
#include <gsl/span>
#include <string>
#include <variant>
#include <vector>

#include "core/tensor/tensor.h"
#include "sharding/rules/rule_rows.h"

namespace simmesh {

// RuleInput is an input of a function whose rule is judged. Its dims are letters, whose sizes vary,
// and numbers, which stay: "mk", or "m 8" for m rows of 8. Where no input has letters, dims of
// equal size vary together. Its values are drawn, or those of a tensor, repeated: indices or a
// mask.
//
//   RuleInput rows = "mk";
//   RuleInput indices = {"m", tensor_of<std::int64_t>({3}, {0, 3, 1})};
struct RuleInput {
  using Dim = std::variant<char, std::int64_t>;

  // Raises a ValueError for a text with anything but letters, numbers, spaces and commas.
  RuleInput(std::string_view dims_text, Tensor its_values = {});
  RuleInput(const char* dims_text, Tensor its_values = {})
      : RuleInput(std::string_view(dims_text), std::move(its_values)) {}

  std::vector<Dim> dims;
  Tensor values;
};

// RulePieces are kinds of sizes of a dim that is cut over ranks: pieces of one size, of several
// sizes, fewer elements than ranks, and no element at all.
enum class RulePieces : std::uint8_t { even, uneven, few, none };

// RuleShapes are the shapes of all inputs in one trial.
using RuleShapes = std::vector<Shape>;

// rule_shapes returns the shapes at which rows are judged on a number of ranks, those with the
// fewest elements first. Dims that no row cuts have 3 elements.
std::vector<RuleShapes> rule_shapes(gsl::span<const RuleInput> inputs,
                                    gsl::span<const RuleRow> rows, std::int64_t ranks,
                                    gsl::span<const RulePieces> kinds);

// to_string returns "[3, 5], [5]".
std::string to_string(const RuleShapes& shapes);

}  // namespace simmesh
