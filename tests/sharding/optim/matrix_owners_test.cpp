#include "sharding/optim/matrix_owners.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

// If this fails, blocks overlap, leave elements out, or are cut at other places than the indices
// of the whole matrix say.
TEST(MatrixOwners, BlocksCoverTheMatrixOnce) {
  for (std::int64_t rows = 0; rows <= 5; ++rows)
    for (std::int64_t columns = 0; columns <= 5; ++columns)
      for (std::int64_t high = 0; high <= 3; ++high) {
        std::vector<int> seen(std::size_t(rows * columns), 0);
        for (const MatrixBlock& block : matrix_blocks(7, Shape{rows, columns}, Shape{high, 2})) {
          EXPECT_EQ(block.parameter, 7u);
          EXPECT_EQ(
              block.offset[0] % std::max<std::int64_t>(high, 1) * std::min<std::int64_t>(high, 1),
              0);
          for (std::int64_t row = 0; row < block.shape[0]; ++row)
            for (std::int64_t column = 0; column < block.shape[1]; ++column)
              ++seen[std::size_t((block.offset[0] + row) * columns + block.offset[1] + column)];
        }
        EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
      }
  EXPECT_EQ(matrix_blocks(0, Shape{4, 6}),
            (std::vector<MatrixBlock>{{0, Dims{0, 0}, Shape{4, 6}}}));
  expect_error(
      [] {
        matrix_blocks(0, Shape{4, 6}, Shape{2});
      },
      ErrorKind::value_error, "a block of 2 sizes");
  expect_error([] { matrix_blocks(0, Shape{4}, Shape{-1}); }, ErrorKind::value_error,
               "sizes of 0 and more");
}

// If this fails, one rank has most of the work while others wait, or ranks choose different owners.
TEST(MatrixOwners, OwnersShareTheWork) {
  std::vector<MatrixBlock> blocks;
  for (const Shape& shape : {Shape{2, 2}, Shape{8, 8}, Shape{4, 4}, Shape{4, 4}, Shape{2, 8}})
    blocks.push_back({blocks.size(), Dims{0, 0}, shape});
  EXPECT_EQ(block_owners(blocks, OwnerRule::round_robin, 2),
            (std::vector<std::int64_t>{0, 1, 0, 1, 0}));
  // 512 for the second; 64, 64, 32 and 8 stay together below it.
  EXPECT_EQ(block_owners(blocks, OwnerRule::by_size, 2),
            (std::vector<std::int64_t>{1, 0, 1, 1, 1}));
  EXPECT_EQ(block_owners(blocks, OwnerRule::by_size, 3),
            (std::vector<std::int64_t>{2, 0, 1, 2, 1}));
  EXPECT_EQ(step_work(Shape{3, 4, 5}), 240.0);
  EXPECT_EQ(step_work(Shape{7}), 7.0);
}

}  // namespace
}  // namespace simmesh
