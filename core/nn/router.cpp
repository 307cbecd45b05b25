#include "core/nn/router.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/autograd/function.h"
#include "core/check/check.h"
#include "core/memory/data_mode.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/reductions/sorting.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"
#include "core/tensor/known_tensor.h"

namespace simmesh::nn {

namespace {

constexpr double least_sum_of_sigmoids = 1e-20;

// Returns the scores by which tokens choose, where only their best groups have finite ones.
Tensor limited_to_groups(const Tensor& scores, bool has_bias, const RouterOptions& options) {
  std::int64_t tokens = scores.size(0), experts = scores.size(1);
  std::int64_t size = experts / options.groups;
  Tensor grouped = reshape(scores, {tokens, options.groups, size});
  Tensor of_groups = has_bias
                         ? sum(topk(grouped, {.k = std::min<std::int64_t>(2, size)}).values, {-1})
                         : select(topk(grouped, {.k = 1}).values, -1, 0);
  Tensor best = topk(of_groups, {.k = options.top_groups}).indices;
  Tensor is_left_out = scatter(full({tokens, options.groups}, DType::boolean, 1), 1, best, 0.0);
  Tensor limited =
      masked_fill(grouped, unsqueeze(is_left_out, 2), -std::numeric_limits<double>::infinity());
  return reshape(limited, {tokens, experts});
}

// Returns the choices of a forced balance. They have values also in a world of shapes only.
Tensor choices_in_turn(const Tensor& scores, std::int64_t top_k,
                       const std::vector<std::int64_t>& numbers) {
  std::int64_t tokens = scores.size(0), experts = scores.size(1);
  SIMMESH_CHECK(numbers.empty() || std::int64_t(numbers.size()) == tokens,
                "expected the numbers of {} tokens, got {}", tokens, numbers.size());
  DataModeScope with_values(false);
  Tensor choices = empty({tokens, top_k}, DType::int64);
  auto values = choices.mutable_values<std::int64_t>();
  for (std::int64_t token = 0; token < tokens; ++token) {
    std::int64_t number = numbers.empty() ? token : numbers[std::size_t(token)];
    for (std::int64_t choice = 0; choice < top_k; ++choice)
      values[std::size_t(token * top_k + choice)] = (number * top_k + choice) % experts;
  }
  return choices;
}

// Returns the sums over the experts by which scores are divided.
Tensor divisor_of(const Tensor& scores, const RouterOptions& options) {
  Tensor total = sum(scores, {-1}, true);
  return options.score == RouterScore::sigmoid ? clamp_min(total, least_sum_of_sigmoids) : total;
}

Tensor load_weights(const RouterOptions& options, const RouterLoad& load, const Routing& routing) {
  auto experts = std::int64_t(load.loads.size());
  Tensor weights = empty({experts}, DType::float64);
  if (!weights.has_elements()) return converted(weights, routing.scores.dtype());
  auto choices = double(load.tokens * routing.experts.size(1));
  for (std::size_t i = 0; i < load.loads.size(); ++i)
    weights.mutable_values<double>()[i] =
        load.tokens == 0 ? 0.0
                         : options.aux_loss * double(experts) * double(load.loads[i]) / choices;
  return converted(weights, routing.scores.dtype());
}

}  // namespace

std::string_view to_string(RouterScore score) {
  return score == RouterScore::softmax ? "softmax" : "sigmoid";
}

std::optional<RouterScore> router_score_from_string(std::string_view name) {
  for (RouterScore score : {RouterScore::softmax, RouterScore::sigmoid})
    if (to_string(score) == name) return score;
  return std::nullopt;
}

std::string_view to_string(DropOrder order) {
  switch (order) {
    case DropOrder::choice: return "choice";
    case DropOrder::position: return "position";
    case DropOrder::probability: return "probability";
    case DropOrder::none: break;
  }
  return "none";
}

std::optional<DropOrder> drop_order_from_string(std::string_view name) {
  for (DropOrder order :
       {DropOrder::choice, DropOrder::position, DropOrder::probability, DropOrder::none})
    if (to_string(order) == name) return order;
  return std::nullopt;
}

Routing routing_of(const Tensor& logits, const Tensor& bias, const RouterOptions& options,
                   std::int64_t top_k, const std::vector<std::int64_t>& numbers) {
  Routing result;
  result.logits = logits;
  result.scores = options.score == RouterScore::softmax ? softmax(logits, -1) : sigmoid(logits);
  if (options.force_load_balance) {
    result.experts = choices_in_turn(result.scores, top_k, numbers);
    result.chosen = gather(result.scores, -1, result.experts);
  } else if (!bias.is_defined() && options.top_groups == options.groups) {
    Sorted top = topk(result.scores, {.k = top_k, .dim = -1});
    result.experts = top.indices;
    result.chosen = top.values;
  } else {
    Tensor wanted = result.scores.detach();
    if (bias.is_defined()) wanted = add(wanted, bias);
    if (options.top_groups < options.groups)
      wanted = limited_to_groups(wanted, bias.is_defined(), options);
    result.experts = topk(wanted, {.k = top_k, .dim = -1}).indices;
    result.chosen = gather(result.scores, -1, result.experts);
  }
  if (!options.force_load_balance) make_known(result.experts, "the choices of a router");
  result.shares = result.chosen;
  if (options.normalizes) result.shares = div(result.shares, divisor_of(result.shares, options));
  if (options.scaling != 1.0) result.shares = mul(result.shares, options.scaling);
  return result;
}

Tensor loss_terms(const Routing& routing, const RouterOptions& options, const RouterLoad& load) {
  Tensor terms;
  if (options.aux_loss != 0.0) {
    Tensor scores = routing.scores;
    if (options.score == RouterScore::sigmoid) scores = div(scores, divisor_of(scores, options));
    terms = sum(mul(scores, load_weights(options, load, routing)), {-1});
  }
  if (options.z_loss != 0.0) {
    Tensor squares = mul(square(logsumexp(routing.logits, {-1})), options.z_loss);
    terms = terms.is_defined() ? add(terms, squares) : squares;
  }
  return terms;
}

Tensor with_loss(const Tensor& output, const Tensor& terms, double factor) {
  Tensor result = output.detach();
  record_function("router_loss", {output, terms}, {&result},
                  [shape = terms.shape(), dtype = terms.dtype(),
                   factor](const std::vector<Tensor>& gradients) -> std::vector<Tensor> {
                    return {gradients[0], full(shape, dtype, factor)};
                  });
  return result;
}

Tensor balanced_bias(const Tensor& bias, const std::vector<std::int64_t>& loads, double rate) {
  std::int64_t total = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  Tensor steps = zeros({std::int64_t(loads.size())}, DType::float64);
  for (std::size_t i = 0; steps.has_elements() && i < loads.size(); ++i) {
    std::int64_t load = loads[i] * std::int64_t(loads.size());
    double sign = load < total ? 1.0 : load > total ? -1.0 : 0.0;
    steps.mutable_values<double>()[i] = sign * rate;
  }
  return add(bias, converted(steps, bias.dtype()));
}

}  // namespace simmesh::nn
