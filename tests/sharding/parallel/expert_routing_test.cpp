#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/inplace.h"
#include "core/tensor/formula.h"
#include "sharding/parallel/expert_parallel.h"
#include "testing/gtest.h"

// Capacities, losses and biases of routers count all tokens, whatever ranks these are on.
namespace simmesh {
namespace {

constexpr std::int64_t routed_experts = 3;

// RoutedTokens are tokens whose first choice is given: one entry of each is large, and the router
// is an identity matrix.
struct RoutedTokens {
  std::vector<std::int64_t> choices;

  Tensor rows() const {
    auto count = std::int64_t(choices.size());
    Tensor x = formula({count, routed_experts}, {.rule = Rule::unit, .seed = 5});
    if (count == 0) return x;
    auto values = x.mutable_values<float>();
    for (std::size_t i = 0; i < choices.size(); ++i)
      values[i * routed_experts + std::size_t(choices[i])] += 3.0F;
    return x;
  }
};

// All distributions of a number of tokens over the experts, also all on one.
std::vector<RoutedTokens> all_distributions(std::int64_t tokens) {
  std::vector<RoutedTokens> result = {{}};
  for (std::int64_t i = 0; i < tokens; ++i) {
    std::vector<RoutedTokens> longer;
    for (const RoutedTokens& known : result)
      for (std::int64_t expert = 0; expert < routed_experts; ++expert) {
        longer.push_back(known);
        longer.back().choices.push_back(expert);
      }
    result = std::move(longer);
  }
  return result;
}

std::unique_ptr<nn::Moe> routed_moe(const nn::Moe::Options& options) {
  auto moe = std::make_unique<nn::Moe>(options);
  std::uint64_t seed = 30;
  for (auto& [name, parameter] : moe->named_parameters()) {
    Tensor target = parameter.detach();
    copy_(target, formula(parameter.shape(), {.rule = Rule::unit, .seed = ++seed}));
    if (name != "router.weight") continue;
    zero_(target);
    for (std::size_t i = 0; i < routed_experts; ++i)
      target.mutable_values<float>()[i * routed_experts + i] = 1.0F;
  }
  return moe;
}

struct Routed {
  std::unique_ptr<nn::Moe> moe;
  Tensor output, input_gradient;
  nn::Moe::RouterLosses losses;
};

Routed run_routed(std::unique_ptr<nn::Moe> moe, const Tensor& x, const Tensor& upstream) {
  Tensor input = x.clone();
  set_requires_grad(input);
  Tensor output = (*moe)(input);
  // Without any token one device has nothing to differentiate.
  if (output.requires_grad()) backward(output, {.gradients = {upstream}});
  nn::Moe::RouterLosses losses = moe->router_losses();
  moe->update_bias();
  Tensor gradient = grad_of(input);
  if (!gradient.is_defined()) gradient = zeros(x.shape(), x.dtype());
  return {std::move(moe), output.detach(), gradient, losses};
}

void expect_true(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// Where tokens are cut: the first rank has so many.
void expect_routed_as_one_device(const nn::Moe::Options& options, const RoutedTokens& tokens,
                                 std::int64_t first, const DeviceMesh& mesh,
                                 const ExpertParallel& style) {
  ProcessGroup group = process_group(mesh);
  Tensor x = tokens.rows();
  Tensor upstream = formula(x.shape(), {.rule = Rule::unit, .seed = 6});
  auto whole = routed_moe(options);
  whole->set_token_part({.loss_gradient = 0.5});
  Routed one = run_routed(std::move(whole), x, upstream);
  auto own = [&](const Tensor& rows) {
    std::int64_t start = group.rank() == 0 ? 0 : group.rank() == 1 ? first : rows.size(0);
    std::int64_t end = group.rank() == 0 ? first : rows.size(0);
    return rows.narrow({0, start, end - start}).contiguous();
  };
  auto spread = routed_moe(options);
  style.apply(*spread, mesh);
  ProcessGroup parts = ProcessGroup::of(group.members(), "tokens");
  spread->set_token_part(
      {.part = parts.rank(),
       .parts = parts.size(),
       .sum = [parts](const Tensor& value) { return all_reduce(value, ReduceOp::sum, parts); },
       .loss_gradient = 0.5});
  Routed cut = run_routed(std::move(spread), own(x), own(upstream));
  EXPECT_SAME_BITS(cut.output, own(one.output));
  EXPECT_SAME_BITS(cut.input_gradient, own(one.input_gradient));
  expect_true(cut.losses.aux == one.losses.aux, "aux losses differ");
  expect_true(cut.losses.z == one.losses.z, "z losses differ");
  if (options.router.bias_rate > 0)
    EXPECT_SAME_BITS(cut.moe->buffers()[0].tensor, one.moe->buffers()[0].tensor);
  auto all = one.moe->named_parameters();
  for (const auto& [name, parameter] : cut.moe->named_parameters()) {
    auto found = std::find_if(all.begin(), all.end(),
                              [&name = name](const auto& other) { return other.first == name; });
    Tensor gradient = grad_of(parameter), wanted = grad_of(found->second);
    expect_true(gradient.is_defined() == wanted.is_defined() || tokens.choices.empty(), name);
    if (!wanted.is_defined()) continue;
    KeepUnrounded scope;
    if (!is_expert_parameter(*one.moe, name)) gradient = all_reduce(gradient, ReduceOp::sum, group);
    EXPECT_SAME_BITS(gradient, wanted);
  }
}

nn::Moe::Options routed_options(double capacity_factor, std::int64_t top_k) {
  return {.width = routed_experts,
          .hidden = 2,
          .experts = routed_experts,
          .top_k = top_k,
          .capacity_factor = capacity_factor,
          .router = {.aux_loss = 0.25, .z_loss = 0.125, .bias_rate = 0.0625}};
}

// If this fails, a rank counts its own tokens only: it drops others than one device does, and the
// losses that balance experts are means of means.
struct RoutedCuts : ::testing::TestWithParam<std::int64_t> {};
SIMMESH_TEST_P(RoutedCuts, AllDistributionsAreThoseOfOneDevice,
               {.mesh = {2}, .schedules = 1, .arithmetic = Arithmetic::exact()}) {
  for (const RoutedTokens& tokens : all_distributions(GetParam()))
    for (std::int64_t first = 0; first <= GetParam(); ++first)
      for (double capacity : {0.0, 0.5, 1.0})
        for (std::int64_t top_k : {1, 2})
          expect_routed_as_one_device(routed_options(capacity, top_k), tokens, first, mesh, {});
}
INSTANTIATE_TEST_SUITE_P(Tokens, RoutedCuts, ::testing::Values(0, 1, 2, 3));

// If this fails, rows of an exchange in two steps arrive in another order, or a rank without tokens
// stops the others.
SIMMESH_TEST(RoutedNodes, ExchangesOnNodesAreThoseOfOneDevice,
             {.mesh = {4}, .schedules = 3, .arithmetic = Arithmetic::exact()}) {
  for (const RoutedTokens& tokens : {RoutedTokens{{0, 1, 2, 2, 1}}, RoutedTokens{{2, 2, 2}}})
    for (std::int64_t ranks_per_node : {1, 2, 4})
      expect_routed_as_one_device(routed_options(1.0, 2), tokens, 2, mesh,
                                  {.ranks_per_node = ranks_per_node});
}

}  // namespace
}  // namespace simmesh
