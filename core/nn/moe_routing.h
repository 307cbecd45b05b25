#pragma once

#include <cstdint>
#include <vector>

#include "core/nn/router.h"
#include "core/tensor/tensor.h"

namespace simmesh::nn {

// ExpertTokens are the tokens that one expert takes, in the order of their choices and then of the
// tokens, and the slot of each: token * top_k + number of the choice.
struct ExpertTokens {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> slots;
};

// ExpertLimits are the number of experts, the number of tokens that each takes, 0 for no limit, and
// the order in which tokens fill it.
struct ExpertLimits {
  std::int64_t experts;
  std::int64_t capacity = 0;
  DropOrder order = DropOrder::choice;
};

// kept_slots returns which slots are within the capacity of their expert, given the experts that
// all tokens chose, int64 [tokens, top_k], and the scores of these choices, which only
// DropOrder::probability needs.
std::vector<bool> kept_slots(const Tensor& chosen, const ExpertLimits& limits,
                             const Tensor& scores = {});

// tokens_of_experts returns the tokens of each expert whose slots are kept.
std::vector<ExpertTokens> tokens_of_experts(const Tensor& chosen, std::int64_t experts,
                                            const std::vector<bool>& kept);

// assign_tokens returns the tokens of each expert within its capacity.
std::vector<ExpertTokens> assign_tokens(const Tensor& chosen, const ExpertLimits& limits,
                                        const Tensor& scores = {});

// loads_of returns how many tokens chose each expert, within its capacity or not. Like the
// functions above it raises an IndexError for an expert that isn't there.
std::vector<std::int64_t> loads_of(const Tensor& chosen, std::int64_t experts);

}  // namespace simmesh::nn
