#pragma once

#include <functional>

#include "core/nn/activation.h"
#include "core/nn/init.h"
#include "core/nn/module.h"
#include "core/nn/moe_router.h"
#include "core/nn/moe_routing.h"

namespace simmesh::nn {

// Moe is a mixture of experts over the tokens of x [..., width]. The router (a linear layer without
// bias) gives each token a softmax over experts; the token goes to its top_k experts, the first
// among equal ones, and gets their results weighted by those probabilities, divided by their sum.
// An expert takes at most its capacity of tokens, in the order of their choices and then of the
// tokens; the others go without it. Shared experts see all tokens. Children: router, experts
// (expert0, ...), shared (shared0, ...). RouterOptions choose other scores, limit a token to some
// groups of experts, and add losses and a bias that balance the experts.
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
    RouterOptions router = {};
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

  // TokenPart says that this rank's tokens are one part of all tokens, which follow one another
  // part by part; sum adds up a tensor over the parts. Capacities, the losses of the router and its
  // bias then count all tokens, so they are those of one device. loss_gradient is the gradient of
  // the router's losses.
  struct TokenPart {
    std::int64_t part = 0;
    std::int64_t parts = 1;
    std::function<Tensor(const Tensor& tensor)> sum = {};
    double loss_gradient = 1.0;
  };
  void set_token_part(TokenPart part) { part_ = std::move(part); }
  const TokenPart& token_part() const { return part_; }

  // RouterLosses are the losses of the last call over all tokens, without their factors.
  struct RouterLosses {
    double aux = 0.0;
    double z = 0.0;
  };
  // router_losses adds up over the parts; all of them call it.
  RouterLosses router_losses();
  // update_bias adds bias_rate to the bias of each expert that fewer tokens chose than the mean
  // since the last update, and subtracts it for more (Wang et al. 2024). The bias is the buffer
  // expert_bias. It adds up over the parts; all of them call it, and it does nothing without a
  // rate.
  void update_bias();

  const Options& options() const { return options_; }
  // Routing is the router's choice for each token: its experts, the first choice first, and their
  // shares; both [tokens, top_k].
  struct Routing {
    Tensor experts;
    Tensor shares;
  };
  Routing route(const Tensor& tokens);
  // assign returns the tokens of this rank that each expert takes, where all tokens count.
  std::vector<ExpertTokens> assign(const Tensor& chosen);
  // capacity_of returns how many of so many tokens an expert takes; 0 for no limit.
  std::int64_t capacity_of(std::int64_t tokens) const;
  // with_shared returns the total with the results of the shared experts added, and with the losses
  // of the last route.
  Tensor with_shared(Tensor total, const Tensor& tokens);

 private:
  Tensor mixed(const Tensor& tokens);
  std::vector<std::int64_t> summed(const std::vector<std::int64_t>& numbers) const;
  void note(const Tensor& logits, const Tensor& scores, const Tensor& chosen);

  // Noted is what a call leaves for its losses.
  struct Noted {
    Tensor probabilities, z;     // of each token; logsumexp(logits)^2
    std::vector<double> shares;  // experts * share of all choices, by expert
    double tokens = 0;           // of all parts
  };

  Options options_;
  Mix mix_;
  TokenPart part_;
  Noted noted_;
  Tensor loss_;                      // of the last route
  std::vector<std::int64_t> loads_;  // choices by expert since the last update of the bias
};

}  // namespace simmesh::nn
