#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh::nn {

// ExpertTokens are the tokens that one expert takes, in the order of their choices and then of the
// tokens, and the slot of each: token * top_k + number of the choice.
struct ExpertTokens {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> slots;
};

// ExpertLimits are the number of experts, and the number of tokens that each takes; 0 for no limit.
struct ExpertLimits {
  std::int64_t experts;
  std::int64_t capacity = 0;
  // Where other ranks have tokens too: the number of rows before this rank's first one in the order
  // of each expert, by choice and expert. Empty where all tokens are here.
  std::vector<std::int64_t> ahead = {};
};

// choice_counts returns the number of tokens of each choice and expert: [top_k * experts].
std::vector<std::int64_t> choice_counts(const Tensor& chosen, std::int64_t experts);

// rows_ahead returns ExpertLimits::ahead for one part of the tokens, given the choice_counts of all
// parts: all earlier choices come first, then the same choice of earlier parts.
std::vector<std::int64_t> rows_ahead(const std::vector<std::vector<std::int64_t>>& of_parts,
                                     std::size_t part, std::int64_t experts);

// assign_tokens returns the tokens of each expert, given the experts that tokens chose: int64
// [tokens, top_k]. All first choices come before all second ones; tokens beyond the capacity are
// left out.
std::vector<ExpertTokens> assign_tokens(const Tensor& chosen, const ExpertLimits& limits);

// index_tensor returns the values as an int64 vector.
Tensor index_tensor(const std::vector<std::int64_t>& values);

}  // namespace simmesh::nn
