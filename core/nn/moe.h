#pragma once

#include "core/nn/activation.h"
#include "core/nn/init.h"
#include "core/nn/module.h"

namespace simmesh::nn {

// Moe is a mixture of experts over the tokens of x [..., width]. The router (a linear layer without
// bias) gives each token a softmax over experts; the token goes to its top_k experts, of equal ones
// to the first, and gets their results weighted by those probabilities, divided by their sum. An
// expert takes at most its capacity of tokens, in the order of their choices and then of the
// tokens; the others go without it. Shared experts see all tokens. Children: router, experts
// (expert0, ...), shared (shared0, ...).
class Moe final : public Module {
 public:
  struct Options {
    std::int64_t width;
    std::int64_t hidden;
    std::int64_t experts;
    std::int64_t top_k = 2;
    std::int64_t shared = 0;
    // An expert's capacity is ceil(tokens * top_k / experts * factor); no bound for 0.
    double capacity_factor = 0.0;
    ActivationKind activation = ActivationKind::silu;
    ParameterOptions parameters = {};
  };

  // Raises a ValueError for a top_k that is no number of experts.
  explicit Moe(const Options& options);
  Tensors forward(const Tensors& inputs) override;

 private:
  std::int64_t capacity_of(std::int64_t tokens) const;

  Options options_;
};

}  // namespace simmesh::nn
