#include "sharding/placement/shard_order.h"

#include <gtest/gtest.h>

#include "core/check/error.h"

namespace simmesh {
namespace {

// decoded prints the order to which a list of strided shards decodes; "-" where it can't be
// decoded.
std::string decoded(const char* list, DimSpan mesh_shape) {
  const auto sharding = decode_strided({parse_placements(list), {}}, mesh_shape);
  return sharding ? to_string(*sharding) : "-";
}

// If this fails, an ascending order and no order count as different, so plans and caches tell equal
// shardings apart.
TEST(ShardOrder, AscendingIsTheDefault) {
  const auto list = parse_placements("S(0),S(1),S(0)");
  const ShardOrder ascending = ShardOrder::of({{1, {1}}, {0, {0, 2}}}, list);
  EXPECT_TRUE(ascending.is_ascending());
  EXPECT_EQ(ascending, ShardOrder());
  EXPECT_EQ(ascending.mesh_dims(0, list), (Dims{0, 2}));
  EXPECT_EQ(ascending.mesh_dims(2, list), Dims{});
}

// If this fails, an order is kept in the form it was given in, not in the canonical one.
TEST(ShardOrder, DeviationsAreKeptByTensorDim) {
  const auto list = parse_placements("S(0),S(1),S(0),S(1),R");
  const ShardOrder order = ShardOrder::of({{1, {3, 1}}, {0, {2, 0}}}, list);
  EXPECT_EQ(order, ShardOrder::of({{0, {2, 0}}, {1, {3, 1}}}, list));
  EXPECT_NE(order, ShardOrder::of({{0, {2, 0}}}, list));
  EXPECT_EQ(order.mesh_dims(0, list), (Dims{2, 0}));
  EXPECT_EQ(to_string(Sharding{list, order}), "S(0)[1],S(1)[1],S(0)[0],S(1)[0],R");
}

// If this fails, an order that leaves out or repeats a mesh dim gets through.
TEST(ShardOrder, OrdersMustListEachMeshDimOnce) {
  const auto list = parse_placements("S(0),S(0),R");
  EXPECT_THROW(ShardOrder::of({{0, {0}}}, list), Error);
  EXPECT_THROW(ShardOrder::of({{0, {1, 1}}}, list), Error);
  EXPECT_THROW(ShardOrder::of({{0, {2, 1, 0}}}, list), Error);
  EXPECT_THROW(ShardOrder::of({{0, {1, 0}}, {0, {1, 0}}}, list), Error);
  EXPECT_THROW(ShardOrder::of({{1, {0}}}, list), Error);
  EXPECT_THROW(ShardOrder::of({{0, {1, 0}}}, parse_placements("_S(0,2),S(0)")), Error);
}

// If this fails, strided shards stand for another order than the one PyTorch reads from them.
TEST(ShardOrder, StridedShardsDecodeToAnOrder) {
  EXPECT_EQ(decoded("_S(0,2),S(0)", Dims{4, 2}), "S(0)[1],S(0)[0]");
  EXPECT_EQ(decoded("_S(0,6),_S(0,2),S(0)", Dims{2, 3, 2}), "S(0)[2],S(0)[1],S(0)[0]");
  EXPECT_EQ(decoded("_S(0,2),S(0),S(0)", Dims{2, 2, 2}), "S(0)[1],S(0)[0],S(0)[2]");
  EXPECT_EQ(decoded("S(0),_S(0,2),S(0)", Dims{2, 2, 2}), "S(0)[0],S(0)[2],S(0)[1]");
  EXPECT_EQ(decoded("_S(1,1),S(0)", Dims{2, 2}), "S(1),S(0)");
  EXPECT_EQ(decoded("_S(0,1),S(0)", Dims{2, 2}), "S(0),S(0)");
  EXPECT_EQ(decoded("S(0),R", Dims{2, 2}), "S(0),R");
}

// If this fails, a split factor that no order explains counts as one.
TEST(ShardOrder, OtherStridedShardsDoNotDecode) {
  EXPECT_EQ(decoded("_S(0,2)", Dims{4}), "-");
  EXPECT_EQ(decoded("_S(0,3),S(0)", Dims{4, 2}), "-");
  EXPECT_EQ(decoded("S(0),_S(0,2)", Dims{2, 2}), "-");
  EXPECT_EQ(decoded("_S(0,2),S(1)", Dims{2, 2}), "-");
}

}  // namespace
}  // namespace simmesh
