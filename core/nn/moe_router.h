#pragma once

#include <cstdint>
#include <string_view>

#include "core/tensor/tensor.h"

namespace simmesh::nn {

// RouterScore turns a router's logits into the scores by which a token chooses experts: softmax
// over all experts, or the sigmoid of each.
enum class RouterScore : std::uint8_t { softmax, sigmoid };

// router_score_from_string reads such a name. Raises a ValueError for another one.
RouterScore router_score_from_string(std::string_view name);

// RouterOptions say how tokens choose experts, and which losses keep these balanced.
struct RouterOptions {
  RouterScore score = RouterScore::softmax;
  // Experts lie in this number of equal groups of neighbours, as on nodes; a token chooses among
  // those of its top_groups groups, whose two best scores have the largest sums (DeepSeek-V3).
  std::int64_t groups = 1;
  std::int64_t top_groups = 1;
  double scale = 1.0;  // of the shares
  // Factors of the auxiliary loss, experts * sum over experts of (their share of all choices) *
  // (mean probability), and of the z loss, the mean of logsumexp(logits)^2 (Fedus et al. 2021, Zoph
  // et al. 2022). Means and shares are those of all tokens, on whatever ranks these are.
  double aux_loss = 0.0;
  double z_loss = 0.0;
  // The step of a bias that is added to the scores where experts are chosen, and nowhere else; see
  // Moe::update_bias. 0: there is none.
  double bias_rate = 0.0;

  bool has_losses() const { return aux_loss != 0.0 || z_loss != 0.0; }
};

// ExpertCount is how many experts there are, and how many of them a token chooses.
struct ExpertCount {
  std::int64_t experts;
  std::int64_t top_k;
};

// check_router raises a ValueError where the groups don't divide the experts, or have fewer experts
// than a token chooses.
void check_router(const RouterOptions& options, const ExpertCount& count);

// router_scores returns the scores of logits[tokens, experts].
Tensor router_scores(const Tensor& logits, RouterScore score);

// choose_experts returns the experts of each token, int64 [tokens, top_k], the best first, of equal
// ones the first. The bias [experts] may be undefined.
Tensor choose_experts(const Tensor& scores, const Tensor& bias, const RouterOptions& options,
                      std::int64_t top_k);

// expert_shares returns the scores of the chosen experts, divided by their sum and scaled.
Tensor expert_shares(const Tensor& scores, const Tensor& chosen, const RouterOptions& options);

// with_loss returns x; where the result gets a gradient, the loss gets the given one, so that a
// part of a model adds to the loss of the whole.
Tensor with_loss(const Tensor& x, const Tensor& loss, double gradient);

}  // namespace simmesh::nn
