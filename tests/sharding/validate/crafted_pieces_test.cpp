#include "sharding/validate/crafted_pieces.h"

#include <gtest/gtest.h>

#include "core/samples/op_sample.h"
#include "sharding/validate/joined_pieces.h"

namespace simmesh {
namespace {

std::vector<Placement> placements_for(const Tensor& whole) {
  std::vector<Placement> list = {Replicate(), Shard(0), Shard(1), StridedShard(0, 2),
                                 StridedShard(1, 3)};
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max, ReduceOp::product,
                      ReduceOp::band, ReduceOp::bor, ReduceOp::bxor})
    if (can_craft(Partial(op), whole.dtype())) list.push_back(Partial(op));
  return list;
}

// If pieces didn't make the whole again, every rule would be judged on other numbers than its
// truth.
TEST(CraftedPieces, MakeTheWholeOverOneAndTwoMeshDims) {
  for (const char* words : {"f:ab", "n:ab", "b:ab", "D:ab"})
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      SampleSizes sizes;
      sizes.set('a', 3 + std::int64_t(seed));
      Tensor whole = sample_inputs({"", words}, sizes, {.seed = seed})[0];
      for (std::int64_t members : {1, 2, 3, 4})
        for (const Placement& outer : placements_for(whole)) {
          Placements one = {outer};
          Dims mesh = {members};
          auto pieces = craft_pieces(whole, one, mesh, seed);
          EXPECT_EQ(what_differs({.pieces = pieces, .placements = one, .mesh_shape = mesh}, whole),
                    "")
              << words << " " << to_string(outer);
          for (const Placement& inner : placements_for(whole)) {
            Placements two = {outer, inner};
            Dims square = {2, members};
            pieces = craft_pieces(whole, two, square, seed);
            EXPECT_EQ(
                what_differs({.pieces = pieces, .placements = two, .mesh_shape = square}, whole),
                "")
                << words << " " << to_string(PlacementSpan(two));
          }
        }
    }
}

// If an operand were the element itself on all ranks, a rule that takes partial inputs for
// replicated ones would pass.
TEST(CraftedPieces, OperandsAreNotTheWhole) {
  for (const char* words : {"f:ab", "n:ab", "b:ab"}) {
    Tensor whole = sample_inputs({"", words}, {}, {.seed = 1})[0];
    for (const Placement& placement : placements_for(whole)) {
      if (!placement.is_partial()) continue;
      auto pieces = craft_pieces(whole, Placements{placement}, Dims{2}, 5);
      EXPECT_FALSE(same_elements(pieces[0], whole)) << words << to_string(placement);
      EXPECT_FALSE(same_elements(pieces[1], whole)) << words << to_string(placement);
      EXPECT_FALSE(same_elements(pieces[0], pieces[1])) << words << to_string(placement);
      auto others = craft_pieces(whole, Placements{placement}, Dims{2}, 6);
      EXPECT_FALSE(same_elements(pieces[0], others[0])) << words << to_string(placement);
    }
  }
}

// If counts didn't divide the operands of a sum, its mean would round.
TEST(CraftedPieces, OperandsKeepTheUnitOfTheWhole) {
  Tensor whole = sample_inputs({"", "D:ab"}, {}, {})[0];
  for (const Tensor& piece : craft_pieces(whole, Placements{Partial()}, Dims{3}, 1))
    for (double value : piece.values<double>()) EXPECT_EQ(std::int64_t(value) % (2520 * 2520), 0);
}

TEST(CraftedPieces, BitwiseOperandsAreOfIntegersAveragesOfFloats) {
  EXPECT_FALSE(can_craft(Partial(ReduceOp::avg), DType::int64));
  EXPECT_FALSE(can_craft(Partial(ReduceOp::bor), DType::float64));
  EXPECT_FALSE(can_craft(NormPartial(2), DType::float64));
}

}  // namespace
}  // namespace simmesh
