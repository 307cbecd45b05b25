#include "core/ops/matrices/products.h"
#include "core/ops/neural/losses.h"
#include "core/ops/neural/normalization.h"
#include "core/ops/reductions/statistics.h"
#include "core/ops/reductions/sums.h"
#include "tests/sharding/strategies/whole_tensor_oracle.h"

// In exact arithmetic sums that are split over ranks have one device's bits, forward and backward,
// whatever the magnitudes.
namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

const Formula wide = {.rule = Rule::wide};

Worlds exact_worlds() {
  return {.meshes = {{2}, {3}, {2, 2}},
          .schedules = {"fifo", "pct:3"},
          .arithmetic = Arithmetic::exact()};
}

Input wide_input(const Shape& shape, std::initializer_list<Placement> others = {}) {
  return {shape, shards_and(std::int64_t(shape.size()), others), wide};
}

TEST(ExactStrategies, ProductsKeepTheirBits) {
  expect_whole_bits({"mm",
                     {wide_input({3, 5}), wide_input({5, 4})},
                     [](gsl::span<const Tensor> in) { return Outputs{mm(in[0], in[1])}; }},
                    exact_worlds());
}

// A replicated bias becomes a partial sum: a third of it a rank, which nobody rounds.
TEST(ExactStrategies, LinearLayersKeepTheirBits) {
  Worlds worlds = exact_worlds();
  worlds.meshes = {{2}, {3}};
  expect_whole_bits(
      {"linear",
       {wide_input({4, 6}), wide_input({3, 6}), wide_input({3})},
       [](gsl::span<const Tensor> in) { return Outputs{linear(in[0], in[1], in[2])}; }},
      worlds);
}

TEST(ExactStrategies, BatchesKeepTheirBits) {
  Worlds worlds = exact_worlds();
  worlds.meshes = {{2}, {3}};
  expect_whole_bits({"bmm",
                     {wide_input({2, 3, 4}), wide_input({2, 4, 3})},
                     [](gsl::span<const Tensor> in) { return Outputs{bmm(in[0], in[1])}; }},
                    worlds);
}

// Roots and products of parts are rounded before they are combined, so these are gathered.
TEST(ExactStrategies, ReductionsKeepTheirBits) {
  auto reduce = [](const Tensor& x) {
    return Outputs{sum(x, 0),  mean(x),        mean(x, 1),
                   prod(x, 0), vector_norm(x), vector_norm(x, 3.0, 1)};
  };
  expect_whole_bits(of_one("reductions", {{4, 6}, shards_and(2), {.rule = Rule::unit}}, reduce),
                    exact_worlds());
  expect_whole_bits(
      of_one("mean", wide_input({4, 6}), [](const Tensor& x) { return Outputs{mean(x)}; }),
      exact_worlds());
}

TEST(ExactStrategies, LossesKeepTheirBits) {
  Formula classes = {.rule = Rule::index, .below = 3, .dtype = DType::int64};
  for (LossReduction reduction : {LossReduction::mean, LossReduction::sum}) {
    expect_whole_bits(
        {"cross_entropy",
         {{{6, 3}, shards_and(2), {.rule = Rule::unit}}, {{6}, shards_and(1), classes}},
         [reduction](gsl::span<const Tensor> in) {
           return Outputs{cross_entropy(in[0], in[1], {.reduction = reduction})};
         }},
        exact_worlds());
    expect_whole_bits(
        {"element losses",
         {{{6, 4}, shards_and(2), {.rule = Rule::unit}},
          {{6, 4}, shards_and(2), {.rule = Rule::unit}}},
         [reduction](gsl::span<const Tensor> in) {
           return Outputs{mse_loss(in[0], in[1], reduction),
                          binary_cross_entropy_with_logits(in[0], in[1], {.reduction = reduction})};
         }},
        exact_worlds());
  }
}

// The gradients of weight and bias are sums over rows of all ranks.
TEST(ExactStrategies, NormsKeepTheirBits) {
  Worlds worlds = exact_worlds();
  worlds.meshes = {{2}, {3}};
  expect_whole_bits({"layer_norm",
                     {wide_input({3, 2, 4}), wide_input({4}), wide_input({4})},
                     [](gsl::span<const Tensor> in) {
                       return Outputs{layer_norm(in[0], Dims{4}, in[1], in[2])};
                     }},
                    worlds);
  expect_whole_bits(
      {"rms_norm",
       {wide_input({3, 2, 4}), wide_input({4})},
       [](gsl::span<const Tensor> in) { return Outputs{rms_norm(in[0], Dims{4}, in[1])}; }},
      worlds);
}

}  // namespace
}  // namespace simmesh
