#include "core/nn/moe.h"

#include <cmath>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/nn/containers.h"
#include "core/nn/linear.h"
#include "core/nn/mlp.h"
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

// Choices are the places (choice of a token, row-major over choices, then tokens) that one expert
// takes.
struct Choices {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> slots;  // token * top_k + choice
};

std::vector<Choices> assign(const Tensor& experts_of_tokens, std::int64_t experts,
                            std::int64_t capacity) {
  std::vector<Choices> result(static_cast<std::size_t>(experts));
  std::int64_t tokens = experts_of_tokens.size(0), top_k = experts_of_tokens.size(1);
  Tensor rows = experts_of_tokens.contiguous();
  auto chosen = rows.values<std::int64_t>();
  for (std::int64_t choice = 0; choice < top_k; ++choice) {
    for (std::int64_t token = 0; token < tokens; ++token) {
      std::int64_t slot = token * top_k + choice;
      Choices& expert = result[std::size_t(chosen[std::size_t(slot)])];
      if (capacity > 0 && std::int64_t(expert.tokens.size()) >= capacity) continue;
      expert.tokens.push_back(token);
      expert.slots.push_back(slot);
    }
  }
  return result;
}

Tensor indices_of(const std::vector<std::int64_t>& values) {
  Tensor result = empty({std::int64_t(values.size())}, DType::int64);
  std::copy(values.begin(), values.end(), result.mutable_values<std::int64_t>().begin());
  return result;
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

Tensors Moe::forward(const Tensors& inputs) {
  const Tensor& x = inputs[0];
  Tensor tokens = reshape(x, {-1, options_.width});
  Tensor probabilities = softmax(child("router")(tokens), -1);
  Sorted top = topk(probabilities, {.k = options_.top_k, .dim = -1});
  Tensor shares = div(top.values, sum(top.values, {-1}, true));
  Tensor flat_shares = reshape(shares, {-1});
  Tensor total = zeros_like(tokens);
  std::vector<Choices> assigned =
      assign(top.indices, options_.experts, capacity_of(tokens.size(0)));
  for (std::size_t expert = 0; expert < assigned.size(); ++expert) {
    if (assigned[expert].tokens.empty()) continue;
    Tensor rows = indices_of(assigned[expert].tokens);
    Module& module = *child("experts").children()[expert].second;
    Tensor result = module(index_select(tokens, 0, rows));
    Tensor share = unsqueeze(index_select(flat_shares, 0, indices_of(assigned[expert].slots)), 1);
    total = index_add(total, 0, rows, mul(result, share));
  }
  if (options_.shared > 0)
    for (const auto& [name, module] : child("shared").children())
      total = add(total, (*module)(tokens));
  return {reshape(total, x.shape())};
}

}  // namespace simmesh::nn
