#include "sharding/strategies/like_rows.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// An input is moved though only its shape counts, or a partial one stays partial.
TEST(LikeRows, TheInputStaysWhereItIs) {
  Attributes none;
  Placements given = {Shard(1), Partial(ReduceOp::product), StridedShard(0, 2)};
  std::optional<Placements> lists[] = {given};
  TensorTypes input = {{{4, 6}}}, same = {{{4, 6}}}, other = {{{6, 4}}};
  Shape mesh = {2, 2, 2};
  auto rows = follow_input({{input, same, none}, lists, mesh});
  ASSERT_EQ(1, rows.size());
  EXPECT_EQ(given, rows[0].inputs[0]);
  EXPECT_EQ((Placements{Shard(1), Replicate(), StridedShard(0, 2)}), rows[0].outputs[0]);
  rows = follow_input({{input, other, none}, lists, mesh});
  EXPECT_EQ(given, rows[0].inputs[0]);
  EXPECT_EQ((Placements{Replicate(), Replicate(), Replicate()}), rows[0].outputs[0]);
}

}  // namespace
}  // namespace simmesh
