#include "core/nn/moe.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/nn/containers.h"
#include "core/nn/gated_mlp.h"
#include "core/nn/linear.h"
#include "core/nn/mlp.h"
#include "core/nn/moe_routing.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/vector_of.h"

namespace simmesh::nn {

namespace {

ModulePtr make_expert(const Moe::Options& options) {
  if (options.gated)
    return std::make_shared<GatedMlp>(
        GatedMlp::Options{options.width, options.hidden, options.activation, options.parameters});
  return make_mlp(
      {options.width, options.hidden, options.width, options.activation, true, options.parameters});
}

ModulePtr make_experts(const Moe::Options& options, std::string_view name, std::int64_t count) {
  std::vector<NamedModule> experts;
  for (std::int64_t i = 0; i < count; ++i)
    experts.emplace_back(fmt::format("{}{}", name, i), make_expert(options));
  return std::make_shared<ModuleList>(std::move(experts));
}

// Returns the total as a function of tokens and shares, also where no expert takes a token: other
// ranks have a gradient of the router then.
Tensor linked(const Tensor& total, const Tensor& tokens, const Tensor& shares) {
  Tensor none = empty({0}, DType::int64);
  Tensor share = unsqueeze(index_select(shares, 0, none), 1);
  return index_add(total, 0, none, mul(index_select(tokens, 0, none), share));
}

void check_options(const Moe::Options& options) {
  if (options.top_k < 1 || options.top_k > options.experts)
    raise(ErrorKind::value_error, "nn/moe", "expected a top_k of 1..{} experts, got {}",
          options.experts, options.top_k);
  const RouterOptions& router = options.router;
  if (router.groups < 1 || options.experts % router.groups != 0)
    raise(ErrorKind::value_error, "nn/moe",
          "expected a number of groups that divides the {} experts, got {}", options.experts,
          router.groups);
  if (router.top_groups < 1 || router.top_groups > router.groups ||
      router.top_groups * (options.experts / router.groups) < options.top_k)
    raise(ErrorKind::value_error, "nn/moe",
          "expected a number of {} groups of {} experts with at least {} experts, got {}",
          router.groups, options.experts / router.groups, options.top_k, router.top_groups);
}

}  // namespace

Moe::Moe(const Options& options) : options_(options) {
  check_options(options);
  register_child("router", std::make_shared<Linear>(Linear::Options{options.width, options.experts,
                                                                    false, options.parameters}));
  register_child("experts", make_experts(options, "expert", options.experts));
  if (options.shared > 0) register_child("shared", make_experts(options, "shared", options.shared));
  if (options.router.bias_rate == 0.0) return;
  Tensor bias =
      new_parameter(DimSpan({options.experts}), {DType::float32, options.parameters.device});
  constant_(bias, 0.0);
  register_buffer("expert_bias", bias);
}

std::int64_t Moe::capacity_of(std::int64_t tokens) const {
  if (options_.capacity_factor <= 0 || options_.router.drop == DropOrder::none) return 0;
  double even = double(tokens * options_.top_k) / double(options_.experts);
  return std::int64_t(std::ceil(even * options_.capacity_factor));
}

bool Moe::needs_batch() const {
  bool has_capacity = options_.capacity_factor > 0 && options_.router.drop != DropOrder::none;
  return has_capacity || options_.router.has_losses();
}

Routing Moe::route(const Tensor& tokens, const Shape& x) {
  std::vector<std::int64_t> numbers;
  if (batch_ && options_.router.force_load_balance) numbers = batch_->numbers(*this, x);
  Routing routing =
      routing_of(child("router")(tokens), bias(), options_.router, options_.top_k, numbers);
  // Nothing looks at the rest, and it would take memory while the experts run.
  if (!batch_ && !needs_batch()) routing = {.experts = routing.experts, .shares = routing.shares};
  return routing;
}

RoutingDecision Moe::decide(const Routing& routing, const Shape& x) {
  if (batch_) return batch_->decide(*this, routing, x);
  std::int64_t tokens = routing.experts.size(0);
  ExpertLimits limits{options_.experts, capacity_of(tokens), options_.router.drop};
  return {assign_tokens(routing.experts, limits, routing.chosen),
          {loads_of(routing.experts, options_.experts), tokens}};
}

Tensor Moe::complete(Tensor total, const Tensor& tokens, const Routing& routing,
                     const RoutingDecision& decision) {
  if (options_.shared > 0)
    for (const auto& [name, module] : child("shared").children())
      total = add(total, (*module)(tokens));
  Tensor terms = loss_terms(routing, options_.router, decision.load);
  if (!terms.is_defined()) return total;
  double scale = batch_ ? batch_->add_terms(*this, terms.detach()) : 1.0;
  auto count = double(std::max<std::int64_t>(1, decision.load.tokens));
  return with_loss(total, terms, scale / count);
}

Tensor Moe::bias() {
  for (const ParameterSlot& buffer : buffers())
    if (buffer.name == "expert_bias") return buffer.tensor;
  return {};
}

void Moe::set_bias(const Tensor& bias) {
  for (ParameterSlot& buffer : buffers())
    if (buffer.name == "expert_bias") copy_(buffer.tensor, bias);
}

Tensor Moe::mixed(const Tensor& tokens, const Shape& x) {
  Routing routing = route(tokens, x);
  Tensor shares = reshape(routing.shares, {-1});
  Tensor total = zeros_like(tokens);
  RoutingDecision decision = decide(routing, x);
  bool is_linked = false;
  for (std::size_t expert = 0; expert < decision.experts.size(); ++expert) {
    const ExpertTokens& taken = decision.experts[expert];
    if (taken.tokens.empty() && !calls_every_expert_) continue;
    Tensor rows = vector_of<std::int64_t>(taken.tokens);
    Module& module = *child("experts").children()[expert].second;
    Tensor result = module(index_select(tokens, 0, rows));
    Tensor share = unsqueeze(index_select(shares, 0, vector_of<std::int64_t>(taken.slots)), 1);
    total = index_add(total, 0, rows, mul(result, share));
    is_linked = true;
  }
  if (!is_linked) total = linked(total, tokens, shares);
  return complete(total, tokens, routing, decision);
}

Tensors Moe::forward(const Tensors& inputs) {
  const Tensor& x = inputs[0];
  if (mix_) return {mix_(*this, x)};
  return {reshape(mixed(reshape(x, {-1, options_.width}), x.shape()), x.shape())};
}

}  // namespace simmesh::nn
