#include "sharding/picture/picture_grid.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "sharding/placement/local_shape.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

// If this fails, a picture shows an element in the hands of ranks that don't hold it.
TEST(PictureGrid, EveryCellBelongsToThePieceThatHoldsIt) {
  const Dims mesh{2, 3};
  for (const Placements& list :
       small_worlds::lists(2, parse_placements("R,S(0),S(1),_S(0,2),_S(1,3),P(sum)"))) {
    const PictureGrid grid = picture_grid(Dims{7, 4}, mesh, {list, {}});
    std::size_t cell = 0;
    for (const IndexRun& row : grid.segments[0]) {
      for (const IndexRun& column : grid.segments[1]) {
        const PicturePiece& piece = grid.pieces[static_cast<std::size_t>(grid.cells[cell++])];
        const auto holds = [&](const IndexRuns& runs, const IndexRun& segment) {
          return std::any_of(runs.begin(), runs.end(), [&](const IndexRun& run) {
            return run.start <= segment.start && segment.end() <= run.end();
          });
        };
        EXPECT_TRUE(holds(piece.runs[0], row) && holds(piece.runs[1], column)) << to_string(list);
      }
    }
    EXPECT_EQ(cell, grid.cells.size());
  }
}

// If this fails, copies and operands look alike, or ranks are not named by their coordinates.
TEST(PictureGrid, RanksAreNamedByPatterns) {
  const PictureGrid grid =
      picture_grid(Dims{4}, Dims{2, 2, 2}, {parse_placements("R,S(0),P(sum)"), {}});
  ASSERT_EQ(grid.pieces.size(), 2u);
  EXPECT_EQ(grid.pieces[0].ranks, "(*,0,+)");
  EXPECT_EQ(grid.pieces[1].ranks, "(*,1,+)");
}

// If this fails, a legend doesn't describe a mesh dim.
TEST(PictureGrid, LegendsSayWhatEachMeshDimDoes) {
  const auto list = parse_placements("S(0),P(max),S(0),R,_S(1,2),Ragged([3])");
  const auto order = ShardOrder::of({{0, {2, 0, 5}}}, list);
  const auto lines = legend_lines(Dims{2, 2, 2, 1, 2, 1}, {list, order});
  EXPECT_EQ(
      lines,
      (std::vector<std::string>{
          "mesh dim 0 (2 ranks): S(0), splits tensor dim 0 (mesh dims in the order 2,0,5)",
          "mesh dim 1 (2 ranks): P(max), every rank holds an operand of the reduction",
          "mesh dim 2 (2 ranks): S(0), splits tensor dim 0 (mesh dims in the order 2,0,5)",
          "mesh dim 3 (1 rank): R, every rank holds a copy",
          "mesh dim 4 (2 ranks): _S(1,2), splits tensor dim 1 in 2 chunks, each over all ranks",
          ("mesh dim 5 (1 rank): Ragged([3]), splits tensor dim 0 raggedly, in units per rank "
           "(mesh dims in the order 2,0,5)")}));
}

// If this fails, a picture of a huge mesh fills the memory.
TEST(PictureGrid, TooManyPiecesAreRefused) {
  EXPECT_THROW(picture_grid(Dims{100'000}, Dims{5000}, {parse_placements("S(0)"), {}}), Error);
  EXPECT_NO_THROW(picture_grid(Dims{100'000}, Dims{5000}, {parse_placements("R"), {}}));
  EXPECT_THROW(picture_grid(Dims{100'000}, Dims{2}, {parse_placements("_S(0,5000)"), {}}), Error);
}

}  // namespace
}  // namespace simmesh
