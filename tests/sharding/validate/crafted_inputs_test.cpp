#include "sharding/validate/crafted_inputs.h"

#include <gtest/gtest.h>

#include "core/ops/elementwise/pointwise.h"
#include "tests/sharding/validate/sample_call.h"

namespace simmesh {
namespace {

// If this fails, every combination of placements crafts its pieces anew, or gets those of another
// placement.
TEST(CraftedInputs, CraftsEachPlacementOnce) {
  WholeCall call = testing::sample_call("add", "ab ab");
  CraftedInputs crafted(call, Dims{2}, 0);
  const auto& rows = crafted.pieces(0, {Shard(0)});
  EXPECT_EQ(rows[0].shape(), (Shape{2, 4}));
  EXPECT_EQ(&crafted.pieces(0, {Shard(0)}), &rows);
  EXPECT_EQ(crafted.pieces(0, {Shard(1)})[1].shape(), (Shape{4, 2}));
  auto both = crafted.of({.inputs = {Placements{Shard(0)}, std::nullopt}, .outputs = {}});
  EXPECT_EQ(both[0], &rows);
  EXPECT_TRUE(same_bits((*both[1])[1], call.inputs[1]));
}

// If this fails, equal operands of two inputs cancel, and a wrong rule holds.
TEST(CraftedInputs, OperandsOfEqualInputsDiffer) {
  WholeCall call = testing::sample_call("add", "ab ab");
  call.inputs[1] = call.inputs[0];
  CraftedInputs crafted(call, Dims{2}, 0);
  const auto &first = crafted.pieces(0, {Partial()}), &second = crafted.pieces(1, {Partial()});
  EXPECT_FALSE(same_bits(first[0], second[0]));
  EXPECT_TRUE(same_bits(add(first[0], first[1]), call.inputs[0]));
}

// If this fails, copies of one tensor along a mesh dim differ along another, or each order of a cut
// and a sum computes its own results.
TEST(CraftedInputs, PiecesOfTwoMeshDimsAreShared) {
  WholeCall call = testing::sample_call("add", "ab ab");
  KnownResults known;
  CraftedInputs line(call, Dims{2}, 3, &known), square(call, Dims{2, 2}, 3, &known);
  auto piece = [&](const Placements& placements, std::size_t rank) {
    return square.pieces(0, placements)[rank];
  };
  Placements inner = {Replicate(), Partial()}, outer = {Partial(), Replicate()};
  for (std::size_t rank : {0, 1}) {
    EXPECT_TRUE(is_one_view(piece(inner, rank), piece(inner, 2 + rank)));
    EXPECT_TRUE(is_one_view(piece(inner, rank), piece(outer, 2 * rank)));
    EXPECT_TRUE(is_one_view(piece(inner, rank), line.pieces(0, {Partial()})[rank]));
  }
  Placements sum_of_rows = {Partial(), Shard(0)}, rows_of_sum = {Shard(0), Partial()};
  EXPECT_TRUE(is_one_view(piece(sum_of_rows, 1), piece(rows_of_sum, 2)));
  EXPECT_FALSE(is_one_view(piece(sum_of_rows, 1), piece(rows_of_sum, 1)));
  Tensor second_rows = add(piece(rows_of_sum, 2), piece(rows_of_sum, 3));
  EXPECT_TRUE(same_bits(second_rows, call.inputs[0].narrow({.dim = 0, .start = 2, .length = 2})));
  Placements sums = {Partial(), Partial()};
  Tensor total = add(add(piece(sums, 0), piece(sums, 1)), add(piece(sums, 2), piece(sums, 3)));
  EXPECT_TRUE(same_bits(total, call.inputs[0]));
}

TEST(CraftedInputs, AnAbsentInputHasNoPieces) {
  WholeCall call = testing::sample_call("add", "ab ab");
  call.inputs[1] = Tensor();
  EXPECT_TRUE(CraftedInputs(call, Dims{2}, 0).pieces(1, {Shard(0)}).empty());
}

}  // namespace
}  // namespace simmesh
