#include "core/ops/reductions/statistics.h"

#include <limits>

#include "collectives/comm_debug_mode.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

constexpr double infinite_exponent = std::numeric_limits<double>::infinity();
const Placements statistics_alphabet = shards_and(2, {partial_sum, partial_max});

TEST(StatisticsStrategies, MomentsEqualOneDevice) {
  Worlds worlds;
  worlds.arithmetic = Arithmetic::exact();
  for (bool keepdim : {false, true}) {
    Spread spread = {.keepdim = keepdim};
    expect_whole_bits(of_one("var", {{4, 3}, statistics_alphabet},
                             [&](const Tensor& x) {
                               return Outputs{var(x, 0, spread), std(x, -1, spread),
                                              var_mean(x, 1, spread).mean, var(x)};
                             }),
                      worlds);
    expect_whole_bits(of_one("std", {{4, 3}, statistics_alphabet},
                             [&](const Tensor& x) { return Outputs{std(x, 1, spread)}; }),
                      worlds);
    // Its gradient subtracts it from each rank's part of a sum, which rounds in float.
    expect_whole_bits(of_one("logsumexp", {{3, 2, 4}, shards_and(3, {partial_sum})},
                             [&](const Tensor& x) { return Outputs{logsumexp(x, 1, keepdim)}; }),
                      {.meshes = {{2}, {3}}, .arithmetic = Arithmetic::exact()});
  }
}

// A maximum of magnitudes isn't the magnitude of a maximum, and a piece without elements has no
// least magnitude.
TEST(StatisticsStrategies, NormsOfExtremesEqualOneDevice) {
  for (double p : {infinite_exponent, -infinite_exponent, 0.0, 1.0})
    for (const Shape& shape : {Shape{3, 4}, Shape{1, 2}})
      expect_whole_bits(of_one(
          "vector_norm", {shape, shards_and(2, {partial_sum, partial_max, partial_min})},
          [&](const Tensor& x) {
            return Outputs{vector_norm(x, p, 0), vector_norm(x, p), vector_norm(x, p, -1, true)};
          },
          false));
}

// A result that no op passes on partial would be reduced in the backward pass, or twice.
TEST(StatisticsStrategies, TheForwardPassReducesANormThatIsSaved) {
  World world({.ranks = 2});
  Outcome outcome = world.run([&](Rank&) {
    DeviceMesh mesh = init_device_mesh({2}, {"a"});
    Tensor whole = formula({2, 4}, {.rule = Rule::positive, .seed = 3, .dtype = DType::float64});
    for (bool wants_gradient : {false, true}) {
      Tensor x = distributed(whole, mesh, {Shard(0)});
      if (wants_gradient) set_requires_grad(x);
      CommDebugMode forward;
      Tensor norm = vector_norm(x);
      forward.end();
      EXPECT_EQ(forward.get_total_counts(), wants_gradient ? 1u : 0u);
      EXPECT_EQ(DTensor::of(norm.detach()).placements(), Placements{NormPartial(2.0)});
      if (!wants_gradient) continue;
      Tensor one = distributed(full({}, DType::float64, 1), mesh, {Replicate()});
      CommDebugMode mode;
      backward(norm, {.gradients = {one}});
      EXPECT_EQ(mode.get_total_counts(), 0u);
    }
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// PyTorch tries pieces before the whole, also along a mesh dim along which nothing must move.
TEST(StatisticsStrategies, DistancesEqualOneDevice) {
  for (double p : {infinite_exponent, 0.0, 1.0})
    expect_whole_bits({"dist",
                       {{{3, 4}, shards_and(2, {partial_sum})}, {{4}, shards_and(1)}},
                       [&](gsl::span<const Tensor> x) { return Outputs{dist(x[0], x[1], p)}; }},
                      {.meshes = {{2}, {2, 2}}});
  World world({.ranks = 4});
  Outcome outcome = world.run([&](Rank&) {
    DeviceMesh mesh = init_device_mesh({2, 2});
    Tensor whole = formula({2, 4}, {.rule = Rule::positive, .seed = 3, .dtype = DType::float64});
    Tensor a = distributed(whole, mesh, {Shard(0), Replicate()});
    Tensor b = distributed(whole, mesh, {Shard(1), Replicate()});
    EXPECT_EQ(to_string(DTensor::of(dist(a, b)).placements()), "NormP(2),NormP(2)");
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// The pieces' norms are roots, so a norm in parts is right up to rounding: here 3 and 4 make 5, and
// every power is a number.
TEST(StatisticsStrategies, NormsOfPartsMakeTheWhole) {
  for (double p : {2.0, 3.0, 0.5, -1.0}) {
    World world({.ranks = 3});
    Outcome outcome = world.run([&](Rank&) {
      DeviceMesh mesh = init_device_mesh({3}, {"a"});
      Tensor whole = formula({2, 4}, {.rule = Rule::positive, .seed = 3, .dtype = DType::float64});
      DTensor x = distribute_tensor(whole, mesh, {Shard(0)});
      DTensor norm = DTensor::of(vector_norm(x, p));
      EXPECT_EQ(norm.placements(), Placements{NormPartial(p)});
      double expected = vector_norm(whole, p).values<double>()[0];
      EXPECT_NEAR(norm.full_tensor().values<double>()[0], expected, 1e-14 * expected);
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
  }
}

}  // namespace
}  // namespace simmesh
