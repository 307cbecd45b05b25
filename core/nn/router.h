#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh::nn {

// RouterScore is what a router makes of its logits: a softmax over all experts, or a sigmoid of
// each.
enum class RouterScore : std::uint8_t { softmax, sigmoid };
std::string_view to_string(RouterScore score);
// router_score_from_string is the inverse of to_string; nullopt for an unknown name.
std::optional<RouterScore> router_score_from_string(std::string_view name);

// DropOrder is the order in which the tokens that chose an expert fill its capacity. Tokens have a
// number in the whole batch, see RoutingDecision.
//   choice        by the number of the choice, and then of the token: all first choices come before
//                 all second ones, as in GShard and DeepSpeed
//   position      by the number of the token, as Megatron's "position"
//   probability   by the score, the highest first, and then by the number of the token, as
//                 Megatron's "probs"; a NaN counts as the highest
//   none          no token is dropped: the capacity grows to the largest load, as with DeepSpeed's
//                 drop_tokens = False
enum class DropOrder : std::uint8_t { choice, position, probability, none };
std::string_view to_string(DropOrder order);
// drop_order_from_string is the inverse of to_string; nullopt for an unknown name.
std::optional<DropOrder> drop_order_from_string(std::string_view name);

// RouterOptions say how a router chooses the experts of a token. The default is a softmax whose
// top_k probabilities are divided by their sum.
struct RouterOptions {
  RouterScore score = RouterScore::softmax;
  // Divides the scores of a token's choices by their sum, which is at least 1e-20 for sigmoids.
  bool normalizes = true;
  // The factor of all shares, after that; shared experts don't have it.
  double scaling = 1.0;
  // The experts form this number of groups of neighbours, and a token chooses among those of its
  // best top_groups. A group's score is its highest one; with a bias, the sum of its two highest
  // (DeepSeek-V2 and -V3).
  std::int64_t groups = 1;
  std::int64_t top_groups = 1;
  DropOrder drop = DropOrder::choice;
  // The load balance loss (Switch, GShard): aux_loss * experts * sum over experts of f * P. f is
  // the part of all choices that fell on the expert, before any is dropped, and P the mean over all
  // tokens of its score; of a sigmoid, divided by the sum of the token's scores.
  double aux_loss = 0.0;
  // The router's z loss (ST-MoE): z_loss * mean over all tokens of logsumexp(logits)^2.
  double z_loss = 0.0;
  // A bias of each expert is added to the scores for the choice, and not to the shares. After a
  // step it moves by this rate: up for an expert that fewer tokens chose than the mean, down for
  // one that more chose (DeepSeek-V3). No bias for 0.
  double bias_rate = 0.0;
  // Gives the choices to the experts in turn, whatever the scores: choice c of token t goes to
  // expert (t * top_k + c) mod experts, as torchtitan's debug_force_load_balance does. Then the
  // choices are known without values, in a world of shapes only too. Groups don't limit them.
  bool force_load_balance = false;

  bool has_losses() const { return aux_loss != 0.0 || z_loss != 0.0; }
};

// Routing is what a router says of some tokens. The choices of a token come in the order of the
// scores by which it chose, the first expert first among equal ones.
struct Routing {
  Tensor experts;  // int64 [tokens, top_k]
  Tensor shares;   // [tokens, top_k], the weights of the experts' results
  Tensor chosen;   // [tokens, top_k], the scores of the choices
  Tensor scores;   // [tokens, experts]
  Tensor logits;   // [tokens, experts]
};

// routing_of returns the routing by logits [tokens, experts]. The bias is a vector, or undefined.
// numbers are those of the tokens in their batch, for a forced balance; 0, 1, ... if empty.
Routing routing_of(const Tensor& logits, const Tensor& bias, const RouterOptions& options,
                   std::int64_t top_k, const std::vector<std::int64_t>& numbers = {});

// RouterLoad is how many of the choices of all tokens of a batch fell on each expert.
struct RouterLoad {
  std::vector<std::int64_t> loads;
  std::int64_t tokens;
};

// loss_terms returns one term for each token: the router's losses are the sum of the terms of all
// tokens of the batch, divided by their number. The loads are constants for the gradient. Undefined
// where there are no losses.
Tensor loss_terms(const Routing& routing, const RouterOptions& options, const RouterLoad& load);

// with_loss returns the output, and adds factor times the sum of the terms to the loss of which a
// gradient comes: backward gives each term the gradient `factor`, whatever the output's is.
Tensor with_loss(const Tensor& output, const Tensor& terms, double factor);

// balanced_bias returns the bias after a step in which the experts had these loads.
Tensor balanced_bias(const Tensor& bias, const std::vector<std::int64_t>& loads, double rate);

}  // namespace simmesh::nn
