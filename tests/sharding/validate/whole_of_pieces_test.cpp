#include "sharding/validate/whole_of_pieces.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/tensor/formula.h"
#include "sharding/validate/crafted_pieces.h"

namespace simmesh {
namespace {

const Placement tried_placements[] = {Replicate(),        Shard(0),  Shard(1),
                                      StridedShard(0, 2), Partial(), Partial(ReduceOp::max)};
const Dims two_by_two = {2, 2};

// Returns a number of type double that differs in the last place.
void change(Tensor& tensor, std::int64_t element) {
  Tensor copy = tensor.contiguous().clone();
  double& value = copy.mutable_values<double>()[element];
  value = std::nextafter(value, 1e9);
  tensor = copy;
}

// If this fails, pieces that make the whole are joined for nothing, or pieces that don't are taken
// for the whole. It must say the same as what_differs, whatever element of whatever rank differs.
TEST(MakeWhole, SaysWhatJoinedPiecesSay) {
  for (const Shape& shape : {Shape{5, 3}, Shape{4, 4}, Shape{1, 2}, Shape{0, 3}}) {
    Tensor whole = formula(shape, {.rule = Rule::small, .seed = 1, .dtype = DType::float64});
    for (const Placement& outer : tried_placements)
      for (const Placement& inner : tried_placements) {
        Placements placements = {outer, inner};
        std::vector<Tensor> pieces = craft_pieces(whole, placements, two_by_two, 3);
        JoinedPieces joined{.pieces = pieces, .placements = placements, .mesh_shape = two_by_two};
        EXPECT_TRUE(make_whole(joined, whole)) << to_string(PlacementSpan(placements));
        EXPECT_EQ(what_differs(joined, whole), "");
        for (Tensor& piece : pieces) {
          if (piece.numel() == 0) continue;
          Tensor before = piece;
          change(piece, piece.numel() - 1);
          EXPECT_EQ(make_whole(joined, whole), what_differs(joined, whole).empty());
          piece = before;
        }
      }
  }
}

// If this fails, copies that differ pass because their sums are right.
TEST(MakeWhole, CopiesOfTermsMustBeEqual) {
  Tensor one = full({1}, DType::float64, 1), two = full({1}, DType::float64, 2);
  std::vector<Tensor> pieces = {one, two, two, one};
  Placements placements = {Partial(), Replicate()};
  EXPECT_FALSE(make_whole({.pieces = pieces, .placements = placements, .mesh_shape = two_by_two},
                          full({1}, DType::float64, 3)));
}

// If this fails, a piece of another shape or dtype reads elements that aren't its own.
TEST(MakeWhole, ShapesAndDTypesCount) {
  Tensor whole = formula({4, 2}, {.dtype = DType::float64});
  Placements placements = {Shard(0)};
  Dims two = {2};
  auto holds = [&](std::vector<Tensor> pieces) {
    return make_whole({.pieces = pieces, .placements = placements, .mesh_shape = two}, whole);
  };
  std::vector<Tensor> halves = craft_pieces(whole, placements, two, 0);
  EXPECT_TRUE(holds(halves));
  EXPECT_FALSE(holds({whole, halves[1]}));
  EXPECT_FALSE(holds({halves[0].view(Dims{2, 2, 1}), halves[1]}));
  EXPECT_FALSE(holds({halves[0], zeros({2, 2}, DType::float32)}));
}

}  // namespace
}  // namespace simmesh
