#include "core/ops/matrices/products.h"

#include "core/autograd/variable.h"
#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

using Two = Tensor (*)(const Tensor&, const Tensor&);
Call of_two(const char* name, Two function, const Input& a, const Input& b) {
  return {name, {a, b}, [function](gsl::span<const Tensor> x) {
            return std::vector<Tensor>{function(x[0], x[1])};
          }};
}

// A wrong row, or a gradient with wrong placements, would show here.
TEST(ProductStrategies, MatricesEqualOneDevice) {
  expect_whole_bits(of_two("mm", mm, {{3, 4}, shards_and(2, {partial_sum, partial_average})},
                           {{4, 5}, shards_and(2, {partial_sum, partial_average})}));
  expect_whole_bits(
      of_two("mm of short dims", mm, {{1, 2}, shards_and(2)}, {{2, 1}, shards_and(2)}));
  expect_whole_bits(
      of_two("mm without depth", mm, {{2, 0}, shards_and(2)}, {{0, 3}, shards_and(2)}));
}

TEST(ProductStrategies, BatchesEqualOneDevice) {
  expect_whole_bits(of_two("bmm", bmm, {{3, 2, 4}, shards_and(3, {partial_sum})},
                           {{3, 4, 2}, shards_and(3, {partial_sum})}));
}

TEST(ProductStrategies, VectorsEqualOneDevice) {
  // A vector that becomes parts of a sum is divided by the number of ranks: by a power of two.
  expect_whole_bits(of_two("mv", mv, {{3, 4}, shards_and(2, {partial_sum, partial_average})},
                           {{4}, shards_and(1, {partial_sum})}),
                    {.meshes = {{2}, {2, 2}}});
  expect_whole_bits(of_two("dot", dot, {{5}, shards_and(1, {partial_sum, partial_average})},
                           {{5}, shards_and(1, {partial_sum, partial_average})}));
}

TEST(ProductStrategies, AddedVectorsEqualOneDevice) {
  for (Scales scales : {Scales{}, Scales{.beta = 0, .alpha = 2}, Scales{.beta = -2}})
    expect_whole_bits(
        {"addmv",
         {{{4}, shards_and(1, {partial_sum, partial_max})},
          {{4, 3}, shards_and(2, {partial_sum})},
          {{3}, shards_and(1)}},
         [scales](gsl::span<const Tensor> x) { return Outputs{addmv(x[0], x[1], x[2], scales)}; }},
        {.meshes = {{2}, {2, 2}}, .schedules = {"fifo"}});
}

// An average stays one beside a replicated product; an unused addend may lie anywhere.
TEST(ProductStrategies, AverageAddendsStay) {
  World world({.ranks = 2});
  Outcome outcome = world.run([&](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2});
    auto placed = [&](const Placement& addend, const Placement& a, const Placement& b,
                      const Scales& scales, const Shape& shape = {6}) {
      DTensor x = distributed(formula(shape, {.seed = 1}), mesh, {addend});
      DTensor matrix = distributed(formula({6, 4}, {.seed = 2}), mesh, {a});
      DTensor vector = distributed(formula({4}, {.seed = 3}), mesh, {b});
      return to_string(DTensor::of(addmv(x, matrix, vector, scales)).placements());
    };
    Placement whole = Replicate();
    EXPECT_EQ(placed(partial_average, Shard(1), Shard(0), {}), "P(avg)");
    EXPECT_EQ(placed(partial_max, whole, whole, {}), "R");
    EXPECT_EQ(placed(partial_max, Shard(1), Shard(0), {.beta = 0}), "P(sum)");
    // One element fits each piece; as many as there are rows must be cut like the result.
    auto before = rank.counters();
    EXPECT_EQ(placed(partial_max, Shard(0), whole, {.beta = 0}, {1}), "S(0)");
    EXPECT_EQ(placed(partial_sum, Shard(0), whole, {.beta = 0}, {}), "S(0)");
    EXPECT_EQ(rank.counters(), before);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// A vector becomes parts of a sum because the matrix must move, though nothing is such a sum.
TEST(ProductStrategies, VectorsBecomePartialOnlyBesideASum) {
  for (std::size_t ranks : {2u, 3u}) {
    World world({.ranks = ranks});
    Outcome outcome = world.run([&](Rank&) {
      DeviceMesh mesh = init_device_mesh({std::int64_t(ranks)});
      auto product = [&](const Placement& a, const Placement& b) {
        DTensor matrix = distributed(formula({6, 6}, {.seed = 1}), mesh, {a});
        DTensor vector = distributed(formula({6}, {.seed = 2}), mesh, {b});
        return to_string(DTensor::of(mv(matrix, vector)).placements());
      };
      EXPECT_EQ(product(partial_average, Replicate()), "R");
      EXPECT_EQ(product(Replicate(), partial_average), "R");
      EXPECT_EQ(product(partial_average, partial_max), "R");
      EXPECT_EQ(product(partial_average, partial_sum), "P(sum)");
      EXPECT_EQ(product(partial_sum, partial_average), "P(sum)");
      EXPECT_EQ(product(partial_average, Shard(0)), "P(sum)");
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
  }
}

// matmul decides where its product runs by the first ops on its factors.
TEST(ProductStrategies, MatmulRunsByTheParts) {
  World world({.ranks = 4});
  Outcome outcome = world.run([&](Rank&) {
    DeviceMesh mesh = init_device_mesh({4});
    auto product = [&](const Shape& a, const Placement& of_a, const Shape& b, const Placement& of_b,
                       bool wants_gradient = false) {
      Tensor x = distributed(formula(a, {.rule = Rule::small, .seed = 1}), mesh, {of_a});
      Tensor y = distributed(formula(b, {.rule = Rule::small, .seed = 2}), mesh, {of_b});
      if (wants_gradient) set_requires_grad(x);
      DTensor result = DTensor::of(matmul(x, y).detach());
      Tensor whole = matmul(formula(a, {.rule = Rule::small, .seed = 1}),
                            formula(b, {.rule = Rule::small, .seed = 2}));
      EXPECT_TRUE(same_bits(result.full_tensor(), whole));
      return to_string(result.placements());
    };
    // A batch of one is a matrix, and leaving the strided shard of the rows costs nothing.
    EXPECT_EQ(product({2, 4, 8}, Shard(1), {1, 8, 2}, Replicate()), "S(1)");
    EXPECT_EQ(product({2, 4, 8}, Shard(1), {1, 8, 4}, Shard(1)), "P(sum)");
    EXPECT_EQ(product({1, 4, 8}, Replicate(), {2, 8, 4}, Shard(2)), "S(2)");
    // Batches are strided shards where the second leading dim is split.
    EXPECT_EQ(product({2, 4, 3, 8}, Shard(1), {2, 4, 8, 4}, Replicate()), "R");
    EXPECT_EQ(product({2, 4, 3, 8}, Shard(1), {2, 4, 8, 4}, Shard(1)), "S(1)");
    // A matrix on the left that wants a gradient is multiplied from the right.
    EXPECT_EQ(product({4, 8}, Shard(0), {4, 8, 4}, Replicate(), true), "S(1)");
    EXPECT_EQ(product({8}, Replicate(), {4, 8, 4}, Shard(0), true), "S(0)");
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// An addend that is broadcast has no shard of the dim that it lacks.
TEST(ProductStrategies, AddendsEqualOneDevice) {
  for (const Shape& addend : {Shape{5}, Shape{3, 5}, Shape{3, 1}, Shape{}}) {
    auto dims = std::int64_t(addend.size());
    expect_whole_bits(
        {"addmm",
         {{addend, shards_and(dims, {partial_sum})},
          {{3, 4}, shards_and(2)},
          {{4, 5}, shards_and(2, {partial_sum})}},
         [](gsl::span<const Tensor> x) {
           return std::vector<Tensor>{addmm(x[0], x[1], x[2], {.beta = 2, .alpha = 3})};
         }},
        {.meshes = {{2}, {2, 2}}, .schedules = {"fifo"}});
  }
  expect_whole_bits(
      {"baddbmm",
       {{{2, 1, 3}, shards_and(3)}, {{2, 3, 4}, shards_and(3)}, {{2, 4, 3}, shards_and(3)}},
       [](gsl::span<const Tensor> x) { return std::vector<Tensor>{baddbmm(x[0], x[1], x[2])}; }},
      {.meshes = {{2}, {4}}});
}

TEST(ProductStrategies, LinearLayersEqualOneDevice) {
  for (const Shape& shape : {Shape{3, 4}, Shape{4}})
    expect_whole_bits(
        {"linear",
         {{shape, shards_and(std::int64_t(shape.size()), {partial_sum})},
          {{4, 4}, shards_and(2)},
          {{4}, shards_and(1)}},
         [](gsl::span<const Tensor> x) { return std::vector<Tensor>{linear(x[0], x[1], x[2])}; }},
        {.meshes = {{2}, {4}, {2, 2}}, .schedules = {"fifo"}});
}

}  // namespace
}  // namespace simmesh
