#pragma once

#include <functional>

#include "core/nn/activation.h"
#include "core/nn/init.h"
#include "core/nn/module.h"

namespace simmesh::nn {

// Moe is a mixture of experts over the tokens of x [..., width]. The router (a linear layer without
// bias) gives each token a softmax over experts; the token goes to its top_k experts, the first
// among equal ones, and gets their results weighted by those probabilities, divided by their sum.
// An expert takes at most its capacity of tokens, in the order of their choices and then of the
// tokens; the others go without it. Shared experts see all tokens. Children: router, experts
// (expert0, ...), shared (shared0, ...).
class Moe final : public Module {
 public:
  // Options are the sizes of the experts, perceptrons width -> hidden -> width, and how many there
  // are: those of the router, of which a token has top_k, and shared ones.
  struct Options {
    std::int64_t width;
    std::int64_t hidden;
    std::int64_t experts;
    std::int64_t top_k = 2;
    std::int64_t shared = 0;
    // An expert's capacity is ceil(tokens * top_k / experts * factor); no limit for 0.
    double capacity_factor = 0.0;
    ActivationKind activation = ActivationKind::silu;
    ParameterOptions parameters = {};
  };

  // Raises a ValueError for a top_k that is no number of experts.
  explicit Moe(const Options& options);
  Tensors forward(const Tensors& inputs) override;

  // Mix takes x to the combined results of the experts.
  using Mix = std::function<Tensor(Moe& self, const Tensor& x)>;
  // set_mix replaces forward, for instance where the experts are spread over ranks. The functions
  // below are its steps.
  void set_mix(Mix mix) { mix_ = std::move(mix); }

  const Options& options() const { return options_; }
  // Routing is the router's choice for each token: its experts, the first choice first, and their
  // shares; both [tokens, top_k].
  struct Routing {
    Tensor experts;
    Tensor shares;
  };
  Routing route(const Tensor& tokens);
  // capacity_of returns how many of so many tokens an expert takes; 0 for no limit.
  std::int64_t capacity_of(std::int64_t tokens) const;
  // with_shared returns the total with the results of the shared experts added.
  Tensor with_shared(Tensor total, const Tensor& tokens);

 private:
  Tensor mixed(const Tensor& tokens);

  Options options_;
  Mix mix_;
};

}  // namespace simmesh::nn
