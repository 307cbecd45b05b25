#include "core/nn/moe_router.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/autograd/function.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/reductions/sorting.h"
#include "core/tensor/convert.h"

namespace simmesh::nn {

namespace {

constexpr const char* router_where = "nn/moe_router";

// Keeps the scores of a token's best groups, and makes all others the lowest ones.
void keep_best_groups(gsl::span<double> scores, const RouterOptions& options) {
  auto groups = std::size_t(options.groups), size = scores.size() / groups;
  std::vector<double> sums(groups);
  for (std::size_t group = 0; group < groups; ++group) {
    auto part = scores.subspan(group * size, size);
    std::vector<double> best(part.begin(), part.end());
    std::size_t count = std::min<std::size_t>(2, size);
    std::partial_sort(best.begin(), best.begin() + std::ptrdiff_t(count), best.end(),
                      std::greater<>());
    sums[group] = std::accumulate(best.begin(), best.begin() + std::ptrdiff_t(count), 0.0);
  }
  std::vector<std::size_t> order(groups);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
  for (std::size_t i = std::size_t(options.top_groups); i < groups; ++i)
    for (double& score : scores.subspan(order[i] * size, size))
      score = -std::numeric_limits<double>::infinity();
}

}  // namespace

RouterScore router_score_from_string(std::string_view name) {
  if (name == "softmax") return RouterScore::softmax;
  if (name == "sigmoid") return RouterScore::sigmoid;
  raise(ErrorKind::value_error, router_where, "expected softmax or sigmoid, got '{}'", name);
}

void check_router(const RouterOptions& options, const ExpertCount& count) {
  if (options.groups < 1 || count.experts % options.groups != 0)
    raise(ErrorKind::value_error, router_where, "expected groups that divide {} experts, got {}",
          count.experts, options.groups);
  if (options.top_groups < 1 || options.top_groups > options.groups)
    raise(ErrorKind::value_error, router_where, "expected top_groups of 1..{} groups, got {}",
          options.groups, options.top_groups);
  std::int64_t reachable = count.experts / options.groups * options.top_groups;
  if (count.top_k > reachable)
    raise(ErrorKind::value_error, router_where,
          "expected at least {} experts in the groups of a token, got {}", count.top_k, reachable);
}

Tensor router_scores(const Tensor& logits, RouterScore score) {
  return score == RouterScore::softmax ? softmax(logits, -1) : sigmoid(logits);
}

Tensor choose_experts(const Tensor& scores, const Tensor& bias, const RouterOptions& options,
                      std::int64_t top_k) {
  NoGrad mode;
  Tensor ranked = scores.detach();
  if (bias.is_defined()) ranked = add(ranked, bias);
  if (options.top_groups < options.groups && ranked.has_elements()) {
    ranked = converted(ranked.contiguous(), DType::float64).clone();
    auto values = ranked.mutable_values<double>();
    auto experts = std::size_t(scores.size(1));
    for (std::size_t start = 0; start < values.size(); start += experts)
      keep_best_groups(values.subspan(start, experts), options);
  }
  return topk(ranked, {.k = top_k, .dim = -1}).indices;
}

Tensor expert_shares(const Tensor& scores, const Tensor& chosen, const RouterOptions& options) {
  Tensor values = gather(scores, 1, chosen);
  Tensor shares = div(values, sum(values, {-1}, true));
  return options.scale == 1.0 ? shares : mul(shares, options.scale);
}

Tensor with_loss(const Tensor& x, const Tensor& loss, double gradient) {
  Tensor result = x.detach();
  TensorType type = type_of(loss);
  record_function("with_loss", {x, loss}, {&result},
                  [=](const std::vector<Tensor>& gradients) -> std::vector<Tensor> {
                    return {gradients[0], full(type.shape, type.dtype, gradient)};
                  });
  return result;
}

}  // namespace simmesh::nn
