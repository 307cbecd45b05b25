#include "sharding/propagation/propagation.h"

#include <gtest/gtest.h>
#include <limits>

#include "core/ops/attribute_names.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/reductions/statistics.h"
#include "core/ops/registry/registry.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

PropagationRequest product_request(const Dims& mesh, const Placements& a, const Placements& b) {
  return {.op = find_op("mm"),
          .inputs = {{{4, 6}}, {{6, 4}}},
          .given = {Sharding{a, {}}, Sharding{b, {}}},
          .mesh_shape = mesh};
}

// An op without a strategy runs on a piece as if it were the whole.
TEST(Propagate, RefusesAnOpWithoutStrategy) {
  Op op{.name = "my::op",
        .shape = [](auto inputs, const Attributes&) { return TensorTypes{inputs[0]}; }};
  PropagationRequest request{
      .op = &op, .inputs = {{{4}}}, .given = {Sharding{{Shard(0)}, {}}}, .mesh_shape = {2}};
  testing::expect_error([&] { propagate(request); }, ErrorKind::not_implemented_error,
                        "Operator my::op does not have a sharding strategy registered");
  op.strategy = strategy({rule({Shard(0)}, Shard(0))});
  EXPECT_EQ(to_string(*propagate(request).outputs[0]), "S(0)");
}

// Two tensors whose contracted dims are split in different orders are multiplied piece by piece.
TEST(Propagate, ShardOrdersOfContractedDimsAgree) {
  PropagationRequest request = product_request({2, 2}, {Shard(1), Shard(1)}, {Shard(0), Shard(0)});
  request.given[0]->order =
      ShardOrder::of({{.tensor_dim = 1, .mesh_dims = {1, 0}}}, request.given[0]->placements);
  Propagation found = propagate(request);
  for (std::size_t i = 0; i < 2; ++i) {
    const Dims* order = found.inputs[i]->order.entry(1 - std::int64_t(i));
    EXPECT_EQ(order ? *order : Dims(), (Dims{1, 0})) << i;
  }
  EXPECT_GT(found.cost_us, 0.0);
}

// A dim that is shorter than the ranks that split it: an op that can't compute on nothing must
// gather it.
TEST(Propagate, GathersTooShortDims) {
  EXPECT_TRUE(is_shardable(Shape{4}, Placements{Shard(0), Shard(0)}, Dims{2, 2}));
  EXPECT_FALSE(is_shardable(Shape{3}, Placements{Shard(0), Shard(0)}, Dims{2, 2}));
  EXPECT_FALSE(is_shardable(Shape{4}, Placements{StridedShard(0, 3)}, Dims{2}));
  EXPECT_FALSE(is_shardable(Shape{4}, Placements{Shard(1)}, Dims{2}));
  PropagationRequest request = product_request({5}, {Shard(0)}, {Replicate()});
  EXPECT_EQ(to_string(*propagate(request).inputs[0]), "R");
}

// In exact arithmetic a sum that isn't rounded yet is computed with, and the bits are no longer
// those of one device.
TEST(Propagate, RoundsPartialSumsBeforeComputingWithThemWhereBitsCount) {
  PropagationRequest request{.op = find_op("mul"),
                             .attributes = {attribute::other = 3.0},
                             .inputs = {{{4}}},
                             .given = {Sharding{{Partial()}, {}}},
                             .mesh_shape = {2}};
  EXPECT_EQ(to_string(*propagate(request).outputs[0]), "P(sum)");
  request.keeps_bits = true;
  EXPECT_EQ(to_string(*propagate(request).outputs[0]), "R");
  request.inputs[0].dtype = DType::int64;
  request.attributes = {attribute::other = std::int64_t(3)};
  EXPECT_EQ(to_string(*propagate(request).outputs[0]), "P(sum)");
}

// Equal parts of integers don't add up to them: a tensor that is replicated stays so, and in place
// the call is refused.
TEST(Propagate, CutsNoIntegersIntoPartsOfASum) {
  PropagationRequest request{.op = find_op("add"),
                             .inputs = {{{4}, DType::int64}, {{4}, DType::int64}},
                             .given = {Sharding{{Partial()}, {}}, Sharding{{Replicate()}, {}}},
                             .mesh_shape = {3}};
  EXPECT_EQ(propagate(request).inputs[0]->placements, Placements{Replicate()});
  request.destination = Destination::in_place;
  EXPECT_THROW(propagate(request), Error);
  request.inputs[0].dtype = DType::float32;
  EXPECT_EQ(propagate(request).inputs[1]->placements, Placements{Partial()});
}

// The parts of a sum of integers round by themselves where they become floating.
TEST(Propagate, SumsOfIntegersAreWholeBeforeTheyBecomeFloatingWhereBitsCount) {
  PropagationRequest request{.op = find_op("_to_copy"),
                             .attributes = {attribute::dtype = DType::float32},
                             .inputs = {{{4}, DType::int64}},
                             .given = {Sharding{{Partial()}, {}}},
                             .mesh_shape = {3}};
  EXPECT_EQ(propagate(request).inputs[0]->placements, Placements{Partial()});
  request.keeps_bits = true;
  EXPECT_EQ(propagate(request).inputs[0]->placements, Placements{Replicate()});
  request.inputs[0].dtype = DType::float64;
  EXPECT_EQ(propagate(request).inputs[0]->placements, Placements{Partial()});
}

// A replicated addend becomes partial without rounding; one that is partial would have been rounded
// before it was added.
TEST(Propagate, AddsReplicatedAddendsToPartialProducts) {
  PropagationRequest request{
      .op = find_op("addmm"),
      .inputs = {{{4}}, {{4, 6}}, {{6, 4}}},
      .given = {Sharding{{Replicate()}, {}}, Sharding{{Shard(1)}, {}}, Sharding{{Shard(0)}, {}}},
      .mesh_shape = {2},
      .keeps_bits = true};
  EXPECT_EQ(to_string(*propagate(request).inputs[0]), "P(sum)");
  EXPECT_EQ(to_string(*propagate(request).outputs[0]), "P(sum)");
  request.given[0] = Sharding{{Partial()}, {}};
  EXPECT_FALSE(to_string(*propagate(request).inputs[0]) == "P(sum)");
  request.keeps_bits = false;
  EXPECT_EQ(to_string(*propagate(request).inputs[0]), "P(sum)");
}

// Parts of a product, or the roots of parts of a norm, are rounded before they are combined.
TEST(Propagate, CombinesNothingThatIsRoundedInPartsWhereBitsCount) {
  PropagationRequest norm{.op = find_op("linalg_vector_norm"),
                          .attributes = {attribute::ord = 2.0},
                          .inputs = {{{4}}},
                          .given = {Sharding{{Shard(0)}, {}}},
                          .mesh_shape = {2}};
  PropagationRequest product = norm;
  product.op = find_op("prod");
  product.attributes = {};
  EXPECT_EQ(propagate(norm).outputs[0]->placements[0], NormPartial(2));
  EXPECT_EQ(to_string(*propagate(product).outputs[0]), "P(product)");
  norm.keeps_bits = product.keeps_bits = true;
  EXPECT_EQ(to_string(*propagate(norm).outputs[0]), "R");
  EXPECT_EQ(to_string(*propagate(product).outputs[0]), "R");
  product.inputs[0].dtype = DType::int64;
  EXPECT_EQ(to_string(*propagate(product).outputs[0]), "P(product)");
  norm.attributes.set(attribute::ord = std::numeric_limits<double>::infinity());
  EXPECT_EQ(to_string(*propagate(norm).outputs[0]), "P(max)");
}

// If this fails, the validator judges other combinations of rules than those that calls take.
TEST(Propagate, UnmovedIsTheSameWhereNothingMoves) {
  const Placement placements[] = {Replicate(), Shard(0), Shard(1), Partial(),
                                  Partial(ReduceOp::max)};
  std::size_t unmoved_count = 0;
  for (const Placement& a : placements)
    for (const Placement& b : placements)
      for (const Placement& c : placements)
        for (const Placement& d : placements) {
          PropagationRequest request = product_request({2, 2}, {a, b}, {c, d});
          Propagation all = propagate(request);
          std::optional<Propagation> unmoved = propagate_unmoved(request);
          EXPECT_EQ(unmoved.has_value(), !all.moves_inputs);
          if (!unmoved) continue;
          EXPECT_EQ(unmoved->outputs, all.outputs);
          ++unmoved_count;
        }
  EXPECT_GT(unmoved_count, 10u);
}

}  // namespace
}  // namespace simmesh
