#include "core/nn/moe.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <utility>

#include "core/arithmetic/unrounded.h"
#include "core/check/error.h"
#include "core/nn/containers.h"
#include "core/nn/linear.h"
#include "core/nn/mlp.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/reductions/sorting.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/scalar_value.h"

namespace simmesh::nn {

namespace {

ModulePtr make_experts(const Moe::Options& options, std::string_view name, std::int64_t count) {
  std::vector<NamedModule> experts;
  for (std::int64_t i = 0; i < count; ++i)
    experts.emplace_back(fmt::format("{}{}", name, i),
                         make_mlp({options.width, options.hidden, options.width, options.activation,
                                   true, options.parameters}));
  return std::make_shared<ModuleList>(std::move(experts));
}

}  // namespace

Moe::Moe(const Options& options) : options_(options) {
  if (options.top_k < 1 || options.top_k > options.experts)
    raise(ErrorKind::value_error, "nn/moe", "expected a top_k of 1..{} experts, got {}",
          options.experts, options.top_k);
  check_router(options.router, {options.experts, options.top_k});
  loads_.assign(std::size_t(options.experts), 0);
  if (options.router.bias_rate > 0)
    register_buffer("expert_bias", zeros({options.experts}, DType::float32));
  register_child("router", std::make_shared<Linear>(Linear::Options{options.width, options.experts,
                                                                    false, options.parameters}));
  register_child("experts", make_experts(options, "expert", options.experts));
  if (options.shared > 0) register_child("shared", make_experts(options, "shared", options.shared));
}

std::int64_t Moe::capacity_of(std::int64_t tokens) const {
  if (options_.capacity_factor <= 0) return 0;
  double even = double(tokens * options_.top_k) / double(options_.experts);
  return std::int64_t(std::ceil(even * options_.capacity_factor));
}

std::vector<std::int64_t> Moe::summed(const std::vector<std::int64_t>& numbers) const {
  if (!part_.sum) return numbers;
  Tensor total = part_.sum(index_tensor(numbers));
  auto values = total.values<std::int64_t>();
  return {values.begin(), values.end()};
}

std::vector<ExpertTokens> Moe::assign(const Tensor& chosen) {
  ExpertLimits limits{.experts = options_.experts, .capacity = capacity_of(chosen.size(0))};
  // A rank without tokens takes part in the sum too.
  if (options_.capacity_factor <= 0 || !part_.sum) return assign_tokens(chosen, limits);
  std::vector<std::int64_t> own = choice_counts(chosen, options_.experts);
  // All parts in one sum: each adds its own counts in its place.
  std::vector<std::int64_t> all(own.size() * std::size_t(part_.parts), 0);
  auto place = [&](std::size_t part) { return all.begin() + std::ptrdiff_t(part * own.size()); };
  std::copy(own.begin(), own.end(), place(std::size_t(part_.part)));
  all = summed(all);
  std::vector<std::vector<std::int64_t>> of_parts;
  for (std::size_t part = 0; part < std::size_t(part_.parts); ++part)
    of_parts.emplace_back(place(part), place(part + 1));
  limits.ahead = rows_ahead(of_parts, std::size_t(part_.part), options_.experts);
  std::int64_t choices = std::accumulate(all.begin(), all.end(), std::int64_t{0});
  limits.capacity = capacity_of(choices / options_.top_k);
  // Without any token no expert takes one; 0 would be no limit.
  limits.capacity = std::max<std::int64_t>(limits.capacity, 1);
  return assign_tokens(chosen, limits);
}

// Keeps the loss of the tokens that are here, as their part of the loss of all tokens.
void Moe::note(const Tensor& logits, const Tensor& scores, const Tensor& chosen) {
  const RouterOptions& router = options_.router;
  loss_ = Tensor();
  if (!router.has_losses() && router.bias_rate <= 0) return;
  std::vector<std::int64_t> counts(std::size_t(options_.experts), 0);
  std::vector<std::int64_t> by_choice = choice_counts(chosen, options_.experts);
  for (std::size_t i = 0; i < by_choice.size(); ++i) counts[i % counts.size()] += by_choice[i];
  for (std::size_t i = 0; i < counts.size(); ++i) loads_[i] += counts[i];
  if (!router.has_losses()) return;
  counts = summed(counts);
  auto experts = double(options_.experts), choices = 0.0;
  for (std::int64_t count : counts) choices += double(count);
  noted_ = {.tokens = choices / double(options_.top_k)};
  for (std::int64_t count : counts)
    noted_.shares.push_back(choices > 0 ? experts * double(count) / choices : 0.0);
  bool is_softmax = router.score == RouterScore::softmax;
  Tensor probabilities = is_softmax ? scores : div(scores, sum(scores, {-1}, true));
  Tensor z = square(logsumexp(logits, {-1}));
  noted_.probabilities = probabilities.detach();
  noted_.z = z.detach();
  if (noted_.tokens == 0) return;
  Tensor shares = empty({options_.experts}, DType::float64);
  std::copy(noted_.shares.begin(), noted_.shares.end(), shares.mutable_values<double>().begin());
  Tensor aux = sum(mul(sum(probabilities, {0}), simmesh::to(shares, scores.dtype())));
  loss_ =
      add(mul(aux, router.aux_loss / noted_.tokens), mul(sum(z), router.z_loss / noted_.tokens));
}

Moe::Routing Moe::route(const Tensor& tokens) {
  const RouterOptions& router = options_.router;
  Tensor logits = child("router")(tokens);
  Tensor scores = router_scores(logits, router.score);
  Tensor bias = router.bias_rate > 0 ? simmesh::to(buffers()[0].tensor, scores.dtype()) : Tensor();
  bool is_plain = !bias.is_defined() && router.top_groups == router.groups && router.scale == 1.0;
  Routing routing;
  if (is_plain) {
    Sorted top = topk(scores, {.k = options_.top_k, .dim = -1});
    routing = {top.indices, div(top.values, sum(top.values, {-1}, true))};
  } else {
    routing.experts = choose_experts(scores, bias, router, options_.top_k);
    routing.shares = expert_shares(scores, routing.experts, router);
  }
  note(logits, scores, routing.experts);
  return routing;
}

Moe::RouterLosses Moe::router_losses() {
  if (noted_.tokens == 0) return {};
  NoGrad mode;
  KeepUnrounded scope;
  Tensor probabilities = sum(noted_.probabilities, {0}), z = sum(noted_.z);
  if (part_.sum) {
    probabilities = part_.sum(probabilities);
    z = part_.sum(z);
  }
  RouterLosses losses{.z = scalar_value(z) / noted_.tokens};
  Tensor wide = simmesh::to(probabilities, DType::float64);
  auto values = wide.values<double>();
  for (std::size_t i = 0; i < values.size(); ++i)
    losses.aux += noted_.shares[i] * (values[i] / noted_.tokens);
  return losses;
}

void Moe::update_bias() {
  double rate = options_.router.bias_rate;
  if (rate <= 0) return;
  std::vector<std::int64_t> loads = summed(loads_);
  std::int64_t total = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  Tensor bias = buffers()[0].tensor;
  auto values = bias.mutable_values<float>();
  for (std::size_t i = 0; i < loads.size(); ++i) {
    std::int64_t scaled = loads[i] * options_.experts;
    if (scaled != total) values[i] += scaled < total ? float(rate) : -float(rate);
  }
  loads_.assign(loads_.size(), 0);
}

Tensor Moe::with_shared(Tensor total, const Tensor& tokens) {
  if (options_.shared > 0)
    for (const auto& [name, module] : child("shared").children())
      total = add(total, (*module)(tokens));
  if (!loss_.is_defined()) return total;
  Tensor loss = std::exchange(loss_, Tensor());
  return with_loss(total, loss, part_.loss_gradient);
}

Tensor Moe::mixed(const Tensor& tokens) {
  Routing routing = route(tokens);
  Tensor shares = reshape(routing.shares, {-1});
  Tensor total = zeros_like(tokens);
  std::vector<ExpertTokens> assigned = assign(routing.experts);
  for (std::size_t expert = 0; expert < assigned.size(); ++expert) {
    if (assigned[expert].tokens.empty()) continue;
    Tensor rows = index_tensor(assigned[expert].tokens);
    Module& module = *child("experts").children()[expert].second;
    Tensor result = module(index_select(tokens, 0, rows));
    Tensor share = unsqueeze(index_select(shares, 0, index_tensor(assigned[expert].slots)), 1);
    total = index_add(total, 0, rows, mul(result, share));
  }
  return with_shared(total, tokens);
}

Tensors Moe::forward(const Tensors& inputs) {
  const Tensor& x = inputs[0];
  if (mix_) return {mix_(*this, x)};
  return {reshape(mixed(reshape(x, {-1, options_.width})), x.shape())};
}

}  // namespace simmesh::nn
