#include "core/nn/moe.h"

#include <cmath>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/nn/containers.h"
#include "core/nn/linear.h"
#include "core/nn/mlp.h"
#include "core/nn/moe_routing.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/reductions/sorting.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"

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

Moe::Routing Moe::route(const Tensor& tokens) {
  Tensor probabilities = softmax(child("router")(tokens), -1);
  Sorted top = topk(probabilities, {.k = options_.top_k, .dim = -1});
  return {top.indices, div(top.values, sum(top.values, {-1}, true))};
}

Tensor Moe::with_shared(Tensor total, const Tensor& tokens) {
  if (options_.shared > 0)
    for (const auto& [name, module] : child("shared").children())
      total = add(total, (*module)(tokens));
  return total;
}

Tensor Moe::mixed(const Tensor& tokens) {
  Routing routing = route(tokens);
  Tensor shares = reshape(routing.shares, {-1});
  Tensor total = zeros_like(tokens);
  std::vector<ExpertTokens> assigned =
      assign_tokens(routing.experts, {options_.experts, capacity_of(tokens.size(0))});
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
