#include "checkpoint/paddle/local_box.h"

#include <algorithm>
#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::HasSubstr;

Box box_at(const Shape& shape, const Shape& mesh, const Dims& at, const Placements& placements) {
  return paddle_local_box(shape, mesh, at, placements);
}

// On meshes of one dim, and of two that cut different dims, the boxes have each element once.
TEST(PaddleLocalBox, CoversATensorOnce) {
  for (std::int64_t rows = 0; rows <= 7; ++rows)
    for (std::int64_t columns = 0; columns <= 5; ++columns) {
      std::vector<int> times(std::size_t(rows * columns), 0);
      for (std::int64_t a = 0; a < 3; ++a)
        for (std::int64_t b = 0; b < 2; ++b) {
          Box box = box_at({rows, columns}, {3, 2}, {a, b}, {Shard(1), Shard(0)});
          if (box.is_empty()) continue;
          for (std::int64_t i = box.offsets[0]; i < box.end(0); ++i)
            for (std::int64_t j = box.offsets[1]; j < box.end(1); ++j)
              ++times[std::size_t(i * columns + j)];
        }
      EXPECT_EQ(std::count(times.begin(), times.end(), 1), rows * columns);
    }
}

TEST(PaddleLocalBox, TakesAllWhereNothingIsCut) {
  EXPECT_EQ(box_at({4, 3}, {2, 2}, {1, 1}, {Replicate(), Partial()}), whole(Shape{4, 3}));
  EXPECT_EQ(box_at({4, 3}, {2, 2}, {1, 1}, {Shard(0), Shard(0)}), (Box{{3, 0}, {1, 3}}));
  // The second half of a half of one element is empty. Its offset is that of the half it was cut
  // from if that is the second one, else the size of the half.
  EXPECT_EQ(box_at({2}, {2, 2}, {1, 1}, {Shard(0), Shard(0)}), (Box{{1}, {0}}));
  EXPECT_EQ(box_at({2}, {2, 2}, {0, 1}, {Shard(0), Shard(0)}), (Box{{1}, {0}}));
}

TEST(PaddleLocalBox, RefusesOtherPlacements) {
  EXPECT_THAT(simmesh::testing::error_text([] {
                box_at({4}, {2}, {0}, {Replicate(), Shard(0)});
              }),
              HasSubstr("2 placements for a mesh of 1 dims"));
  for (const Placement& placement : {Shard(1), StridedShard(0, 2)})
    EXPECT_THAT(simmesh::testing::error_text([&] { box_at({4}, {2}, {0}, {placement}); }),
                HasSubstr("expected Replicate, Partial, or Shard of a dim of [4]"));
}

}  // namespace
}  // namespace simmesh::checkpoint
