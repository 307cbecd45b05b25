#include "zero/stage12/flat_layout.h"

#include <gtest/gtest.h>

#include "core/check/error.h"

namespace simmesh::zero {
namespace {

// If this fails, an element has no owner, two of them, or a place of another.
TEST(FlatLayout, CoversEachElementOnce) {
  std::vector<std::int64_t> sizes = {5, 0, 9, 7, 1, 30, 2};
  for (std::int64_t ranks = 1; ranks <= 5; ++ranks)
    for (std::int64_t alignment : {1, 4, 8})
      for (bool round_robin : {false, true}) {
        FlatLayout layout(sizes, {ranks, round_robin, alignment});
        EXPECT_EQ(layout.flat_numel() % (2 * ranks), 0);
        std::vector<std::int64_t> covered(sizes.size(), 0);
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
          std::int64_t end = 0;
          for (const FlatPiece& piece : layout.pieces(rank)) {
            EXPECT_EQ(piece.first, covered[piece.parameter]);
            EXPECT_GE(piece.position, end);
            EXPECT_EQ(rank * layout.slice_numel() + piece.position,
                      layout.offset(piece.parameter) + piece.first);
            covered[piece.parameter] += piece.count;
            end = piece.position + piece.count;
          }
          EXPECT_LE(end + layout.padding(rank), layout.slice_numel());
        }
        EXPECT_EQ(covered, sizes);
      }
}

TEST(FlatLayout, RoundRobinDealsParametersOut) {
  std::vector<std::int64_t> sizes = {1, 1, 1, 1, 1};
  EXPECT_EQ(FlatLayout(sizes, {.ranks = 2, .round_robin = true}).order(),
            (std::vector<std::size_t>{0, 2, 4, 1, 3}));
}

TEST(FlatLayout, RefusesNoRanks) {
  std::vector<std::int64_t> sizes = {1};
  EXPECT_THROW(FlatLayout(sizes, {.ranks = 0}), Error);
  EXPECT_THROW(FlatLayout(sizes, {.ranks = 1, .alignment = 0}), Error);
}

}  // namespace
}  // namespace simmesh::zero
