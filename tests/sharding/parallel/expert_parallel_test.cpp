#include "sharding/parallel/expert_parallel.h"

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/nn/linear.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/chunk.h"
#include "core/tensor/formula.h"
#include "mesh/device_mesh.h"
#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

// Experts that are spread over ranks give the bits of one device's nn::Moe over all tokens, in
// forward and backward.
namespace simmesh {
namespace {

using testing::expect_error;

constexpr std::int64_t expert_width = 4;

nn::Moe::Options options_of(std::int64_t experts, std::int64_t top_k, double capacity_factor = 0,
                            std::int64_t shared = 0) {
  return {.width = expert_width,
          .hidden = 6,
          .experts = experts,
          .top_k = top_k,
          .shared = shared,
          .capacity_factor = capacity_factor};
}

// Each parameter has values of its own, the same on all ranks.
std::unique_ptr<nn::Moe> filled_moe(const nn::Moe::Options& options) {
  auto moe = std::make_unique<nn::Moe>(options);
  std::uint64_t seed = 10;
  for (auto& [name, parameter] : moe->named_parameters()) {
    Tensor target = parameter.detach();
    copy_(target, formula(parameter.shape(), {.rule = Rule::unit, .seed = ++seed}));
  }
  return moe;
}

Tensor expert_leaf(const Tensor& values) {
  Tensor result = values.detach().clone();
  set_requires_grad(result);
  return result;
}

struct Trained {
  std::unique_ptr<nn::Moe> moe;
  Tensor output, input_gradient;
};

Trained run(std::unique_ptr<nn::Moe> moe, const Tensor& x, const Tensor& upstream) {
  Tensor input = expert_leaf(x);
  Tensor output = (*moe)(input);
  backward(output, {.gradients = {upstream}});
  return {std::move(moe), output.detach(), grad_of(input)};
}

// The number of positions of a dim that each rank has.
using Lengths = std::vector<std::int64_t>;

struct Cut {
  std::int64_t dim;
  Lengths lengths;

  Tensor own(const Tensor& x, const ProcessGroup& group) const {
    std::int64_t start = 0;
    for (std::int64_t rank = 0; rank < group.rank(); ++rank) start += lengths[std::size_t(rank)];
    return x.narrow({dim, start, lengths[std::size_t(group.rank())]}).contiguous();
  }
};

bool owns(const std::string& name, std::int64_t experts, const ProcessGroup& group) {
  constexpr std::string_view prefix = "experts.expert";
  std::int64_t expert = std::stoll(name.substr(prefix.size()));
  Chunk own = chunk_of({.size = experts, .parts = group.size(), .index = group.rank()});
  return expert >= own.start && expert < own.start + own.length;
}

// Gradients of experts are whole on their owners; the others are summed over the ranks.
void expect_gradients(Trained& cut, Trained& one, const ProcessGroup& group, bool sums) {
  auto expected = one.moe->named_parameters();
  auto own = cut.moe->named_parameters();
  std::size_t next = 0;
  for (const auto& [name, parameter] : expected) {
    bool is_expert = is_expert_parameter(*one.moe, name);
    if (is_expert && !owns(name, one.moe->options().experts, group)) continue;
    ASSERT_LT(next, own.size());
    ASSERT_EQ(own[next].first, name);
    Tensor gradient = grad_of(own[next++].second), whole = grad_of(parameter);
    ASSERT_EQ(gradient.is_defined(), whole.is_defined()) << name;
    if (!whole.is_defined()) continue;
    KeepUnrounded scope;
    if (sums && !is_expert) gradient = all_reduce(gradient, ReduceOp::sum, group);
    EXPECT_SAME_BITS(gradient, whole);
  }
  EXPECT_EQ(next, own.size());
}

using MakeMoe = std::function<std::unique_ptr<nn::Moe>()>;

void expect_one_device(const MakeMoe& make, const Tensor& x, const Cut& cut,
                       const DeviceMesh& mesh) {
  ProcessGroup group = process_group(mesh);
  Tensor upstream = formula(x.shape(), {.rule = Rule::unit, .seed = 2});
  Trained one = run(make(), x, upstream);
  auto spread = make();
  ExpertParallel{.tokens = Shard(cut.dim)}.apply(*spread, mesh);
  Trained parallel = run(std::move(spread), cut.own(x, group), cut.own(upstream, group));
  EXPECT_SAME_BITS(parallel.output, cut.own(one.output, group));
  EXPECT_SAME_BITS(parallel.input_gradient, cut.own(one.input_gradient, group));
  expect_gradients(parallel, one, group, true);

  auto replicated = make();
  ExpertParallel{.tokens = Replicate()}.apply(*replicated, mesh);
  Trained same = run(std::move(replicated), x, upstream);
  EXPECT_SAME_BITS(same.output, one.output);
  EXPECT_SAME_BITS(same.input_gradient, one.input_gradient);
  expect_gradients(same, one, group, false);
}

void expect_one_device(const nn::Moe::Options& options, const Shape& shape, const Cut& cut,
                       const DeviceMesh& mesh) {
  expect_one_device([&] { return filled_moe(options); },
                    formula(shape, {.rule = Rule::unit, .seed = 1}), cut, mesh);
}

// Even parts; uneven ones, with ranks that have nothing; and all tokens on the last rank.
std::vector<Lengths> ways_to_cut(std::int64_t ranks) {
  std::vector<Lengths> ways(3, Lengths(std::size_t(ranks), 0));
  for (std::size_t rank = 0; rank < std::size_t(ranks); ++rank) {
    ways[0][rank] = 3;
    ways[1][rank] = rank % 2 == 0 ? std::int64_t(rank) + 2 : 0;
  }
  ways[2].back() = 7;
  return ways;
}

std::int64_t total(const Lengths& lengths) {
  std::int64_t result = 0;
  for (std::int64_t length : lengths) result += length;
  return result;
}

class ExpertParallelTest : public ::testing::TestWithParam<std::int64_t> {};

// Fewer experts than ranks, more, and numbers that don't divide; also experts that nobody chooses.
SIMMESH_TEST_P(ExpertParallelTest, IsOneDevice,
               {.mesh = {GetParam()}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  for (std::int64_t experts : {1, 2, 5})
    for (std::int64_t top_k : {1, 2})
      for (const Lengths& lengths : ways_to_cut(mesh.size()))
        if (top_k <= experts)
          expect_one_device(options_of(experts, top_k), {total(lengths), expert_width},
                            {0, lengths}, mesh);
}

// Which tokens an expert refuses depends on all tokens, in the order of one device.
SIMMESH_TEST_P(ExpertParallelTest, DropsTheTokensThatOneDeviceDrops,
               {.mesh = {GetParam()}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  for (double factor : {0.5, 1.0})
    for (const Lengths& lengths : ways_to_cut(mesh.size())) {
      std::int64_t length = total(lengths);
      expect_one_device(options_of(4, 2, factor), {length, expert_width}, {0, lengths}, mesh);
      expect_one_device(options_of(4, 2, factor), {2, length, expert_width}, {1, lengths}, mesh);
    }
}

SIMMESH_TEST_P(ExpertParallelTest, AddsSharedExperts,
               {.mesh = {GetParam()}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  for (const Lengths& lengths : ways_to_cut(mesh.size()))
    expect_one_device(options_of(3, 2, 0, 2), {2, total(lengths), expert_width}, {1, lengths},
                      mesh);
}

// Rows reach an expert in the order of one device, so its sums are the same in any arithmetic.
SIMMESH_TEST_P(ExpertParallelTest, GivesExpertsTheirRowsInOrder,
               {.mesh = {GetParam()}, .schedules = 4, .arithmetic = Arithmetic::canonical()}) {
  ProcessGroup group = process_group(mesh);
  for (const Lengths& lengths : ways_to_cut(mesh.size())) {
    Cut cut{0, lengths};
    Tensor x = formula({total(lengths), expert_width}, {.rule = Rule::unit, .seed = 1});
    Tensor upstream = formula({total(lengths), expert_width}, {.rule = Rule::unit, .seed = 2});
    Trained one = run(filled_moe(options_of(4, 2)), x, upstream);
    auto spread = filled_moe(options_of(4, 2));
    ExpertParallel{}.apply(*spread, mesh);
    Trained parallel = run(std::move(spread), cut.own(x, group), cut.own(upstream, group));
    EXPECT_SAME_BITS(parallel.output, cut.own(one.output, group));
    EXPECT_SAME_BITS(parallel.input_gradient, cut.own(one.input_gradient, group));
    for (const auto& [name, parameter] : parallel.moe->named_parameters())
      if (is_expert_parameter(*parallel.moe, name) && grad_of(parameter).is_defined()) {
        std::size_t dot = name.rfind('.');
        const Tensor& whole = one.moe->find(name.substr(0, dot)).parameter(name.substr(dot + 1));
        EXPECT_SAME_BITS(grad_of(parameter), grad_of(whole));
      }
  }
}

// Losses of the router and every order of dropping are those of all tokens.
SIMMESH_TEST_P(ExpertParallelTest, RoutersSeeAllTokens,
               {.mesh = {GetParam()}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  for (nn::DropOrder drop :
       {nn::DropOrder::position, nn::DropOrder::probability, nn::DropOrder::none})
    for (const Lengths& lengths : ways_to_cut(mesh.size())) {
      nn::Moe::Options options = options_of(4, 2, 0.5, 1);
      options.router = {.score = nn::RouterScore::sigmoid,
                        .scaling = 1.5,
                        .groups = 2,
                        .top_groups = 1,
                        .drop = drop,
                        .aux_loss = 0.5,
                        .z_loss = 0.25};
      expect_one_device(options, {2, total(lengths), expert_width}, {1, lengths}, mesh);
    }
}

INSTANTIATE_TEST_SUITE_P(Worlds, ExpertParallelTest, ::testing::Values(1, 2, 3, 4, 8));

// A router of which feature i of a token is the logit of expert i.
std::unique_ptr<nn::Moe> obedient_moe(const nn::Moe::Options& options) {
  auto moe = filled_moe(options);
  Tensor weight = moe->child("router").parameter("weight").detach();
  copy_(weight, zeros(weight.shape(), DType::float32));
  for (std::int64_t i = 0; i < options.experts; ++i)
    weight.mutable_values<float>()[std::size_t(i * (options.width + 1))] = 1.0f;
  return moe;
}

// Tokens of which each wants a first and a second expert: number says which ones.
Tensor tokens_that_want(std::int64_t tokens, std::int64_t number) {
  Tensor x = empty({tokens, expert_width}, DType::float32);
  auto values = x.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i % 7) / 16;
  for (std::int64_t token = 0; token < tokens; ++token, number /= 12) {
    std::int64_t first = number % 4, second = (first + 1 + number / 4 % 3) % 4;
    values[std::size_t(token * expert_width + first)] = 2.0f + float(token) / 8;
    values[std::size_t(token * expert_width + second)] = 1.0f;
  }
  return x;
}

// All distributions of three tokens over four experts and the ranks, or every stride-th: none at an
// expert, all at one, ranks without tokens.
void check_distributions(const nn::Moe::Options& options, std::int64_t stride,
                         const DeviceMesh& mesh) {
  std::int64_t ranks = mesh.size(), way = 0;
  for (std::int64_t a = 0; a <= 3; ++a)
    for (std::int64_t b = 0; a + b <= 3; ++b) {
      if (ranks == 2 && a + b < 3) continue;
      Lengths lengths{a, b};
      if (ranks == 3) lengths.push_back(3 - a - b);
      for (std::int64_t number = ++way % stride; number < 12 * 12 * 12; number += stride)
        expect_one_device([&] { return obedient_moe(options); }, tokens_that_want(3, number),
                          {0, lengths}, mesh);
    }
}

SIMMESH_TEST(ExpertParallel, EveryDistributionIsOneDevice,
             {.mesh = {2}, .schedules = 3, .arithmetic = Arithmetic::exact()}) {
  check_distributions(options_of(4, 2), 97, mesh);
}

SIMMESH_TEST(ExpertParallel, EveryDistributionWithACapacityIsOneDevice,
             {.mesh = {3}, .schedules = 3, .arithmetic = Arithmetic::exact()}) {
  nn::Moe::Options options = options_of(4, 2, 0.5);
  options.router = {.drop = nn::DropOrder::probability, .aux_loss = 0.5};
  check_distributions(options, 317, mesh);
}

// The first choices alone: all of them, with a cut that moves on.
SIMMESH_TEST(ExpertParallel, EveryFirstChoiceIsOneDevice,
             {.mesh = {2}, .schedules = 3, .arithmetic = Arithmetic::exact()}) {
  for (std::int64_t number = 0; number < 64; ++number) {
    std::int64_t wanted = number % 4 + 12 * (number / 4 % 4) + 144 * (number / 16);
    std::int64_t first = number * 5 % 7 % 4;
    expect_one_device([&] { return obedient_moe(options_of(4, 1, 0.75)); },
                      tokens_that_want(3, wanted), {0, {first, 3 - first}}, mesh);
  }
}

// A route by nodes changes no bit, also in arithmetic that depends on the order of rows.
SIMMESH_TEST(ExpertParallel, ARouteByNodesIsTheFlatOne, {.mesh = {6}, .schedules = 4}) {
  ProcessGroup group = process_group(mesh);
  for (const Lengths& lengths : ways_to_cut(6)) {
    Cut cut{0, lengths};
    Tensor x = formula({total(lengths), expert_width}, {.rule = Rule::unit, .seed = 1});
    Tensor upstream = formula({total(lengths), expert_width}, {.rule = Rule::unit, .seed = 2});
    auto trained = [&](const RowRoute& route) {
      auto moe = filled_moe(options_of(5, 2, 1.0, 1));
      ExpertParallel{.route = route}.apply(*moe, mesh);
      return run(std::move(moe), cut.own(x, group), cut.own(upstream, group));
    };
    Trained flat = trained({}), by_nodes = trained({.ranks_per_node = 3, .by_nodes = true});
    EXPECT_SAME_BITS(by_nodes.output, flat.output);
    EXPECT_SAME_BITS(by_nodes.input_gradient, flat.input_gradient);
    auto expected = flat.moe->named_parameters();
    auto own = by_nodes.moe->named_parameters();
    for (std::size_t i = 0; i < own.size(); ++i)
      if (grad_of(own[i].second).is_defined())
        EXPECT_SAME_BITS(grad_of(own[i].second), grad_of(expected[i].second));
  }
}

Tensor whole_gradient(const Tensor& parameter) {
  Tensor gradient = grad_of(parameter);
  if (!gradient.is_defined() || !gradient.distribution()) return gradient;
  return DTensor::of(gradient.detach()).full_tensor();
}

// Experts whose layers are split over a second dim: tokens are cut over both dims, and each rank
// has the whole gradient of its columns.
SIMMESH_TEST(
    ExpertParallel, ColumnsOfExpertsAreOneDevice,
    {.mesh = {2, 2}, .names = {"etp", "ep"}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  ProcessGroup group = ProcessGroup::world();
  for (double factor : {0.0, 0.75})
    for (const Lengths& lengths : ways_to_cut(4)) {
      nn::Moe::Options options = options_of(3, 2, factor);
      options.router.aux_loss = 0.5;
      Cut cut{0, lengths};
      Tensor x = formula({total(lengths), expert_width}, {.rule = Rule::unit, .seed = 1});
      Tensor upstream = formula({total(lengths), expert_width}, {.rule = Rule::unit, .seed = 2});
      Trained one = run(filled_moe(options), x, upstream);
      auto spread = filled_moe(options);
      ExpertParallel{.columns = mesh["etp"]}.apply(*spread, mesh["ep"]);
      Trained parallel = run(std::move(spread), cut.own(x, group), cut.own(upstream, group));
      EXPECT_SAME_BITS(parallel.output, cut.own(one.output, group));
      EXPECT_SAME_BITS(parallel.input_gradient, cut.own(one.input_gradient, group));
      for (const auto& [name, parameter] : parallel.moe->named_parameters()) {
        std::size_t dot = name.rfind('.');
        const Tensor& whole = one.moe->find(name.substr(0, dot)).parameter(name.substr(dot + 1));
        Tensor gradient = whole_gradient(parameter);
        ASSERT_EQ(gradient.is_defined(), grad_of(whole).is_defined()) << name;
        if (!gradient.is_defined()) continue;
        KeepUnrounded scope;
        if (!is_expert_parameter(*one.moe, name))
          gradient = all_reduce(gradient, ReduceOp::sum, group);
        EXPECT_SAME_BITS(gradient, grad_of(whole));
      }
    }
}

SIMMESH_TEST(ExpertParallel, KeepsOnlyItsExperts, {.mesh = {2}, .schedules = 1}) {
  auto moe = filled_moe(options_of(3, 1));
  ExpertParallel{}.apply(*moe, mesh);
  std::size_t experts = 0;
  for (const auto& [name, parameter] : moe->named_parameters())
    experts += is_expert_parameter(*moe, name);
  EXPECT_EQ(experts, process_group(mesh).rank() == 0 ? 8U : 4U);
}

SIMMESH_TEST(ExpertParallel, RefusesWhatIsNoMoe, {.mesh = {2}, .schedules = 1}) {
  nn::Linear linear({.in = 2, .out = 2});
  expect_error([&] { ExpertParallel{}.apply(linear, mesh); }, ErrorKind::value_error,
               "expected a module with an nn::Moe");
  auto moe = filled_moe(options_of(2, 1));
  expect_error([&] { ExpertParallel{.tokens = Partial(ReduceOp::sum)}.apply(*moe, mesh); },
               ErrorKind::value_error, "or replicated, got");
}

// Tokens that should be replicated and are not would mix rows of different tokens.
TEST(ExpertParallel, RefusesReplicasOfDifferentLength) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank&) {
    DeviceMesh mesh = init_device_mesh({2}, {"ep"});
    auto moe = filled_moe(options_of(2, 2));
    ExpertParallel{.tokens = Replicate()}.apply(*moe, mesh);
    std::int64_t tokens = 2 + process_group(mesh).rank();
    (*moe)(formula({tokens, expert_width}, {.rule = Rule::unit, .seed = 1}));
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.failure->message, ::testing::HasSubstr("replicated tokens are the same"));
}

}  // namespace
}  // namespace simmesh
