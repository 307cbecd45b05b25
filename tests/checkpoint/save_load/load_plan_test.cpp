#include "checkpoint/save_load/load_plan.h"

#include <gtest/gtest.h>

namespace simmesh::checkpoint {
namespace {

// For every box of a 3 x 4 tensor in four uneven chunks, the reads fill each element once, with the
// right one.
TEST(LoadPlan, FillsEveryBox) {
  std::vector<Box> chunks = {
      {{2, 1}, {1, 3}}, {{0, 0}, {2, 1}}, {{0, 1}, {2, 3}}, {{2, 0}, {1, 1}}};
  for (std::int64_t i = 0; i <= 3; ++i)
    for (std::int64_t j = 0; j <= 4; ++j)
      for (std::int64_t rows = 0; i + rows <= 3; ++rows)
        for (std::int64_t columns = 0; j + columns <= 4; ++columns) {
          Box wanted = {{i, j}, {rows, columns}};
          std::vector<int> filled(std::size_t(rows * columns), 0);
          for (const BoxRead& read : plan_reads(wanted, chunks))
            for (std::int64_t a = 0; a < read.sizes[0]; ++a)
              for (std::int64_t b = 0; b < read.sizes[1]; ++b) {
                std::int64_t to_row = read.to[0] + a, to_column = read.to[1] + b;
                ++filled[std::size_t(to_row * columns + to_column)];
                EXPECT_EQ(chunks[read.chunk].offsets[0] + read.from[0] + a, i + to_row);
                EXPECT_EQ(chunks[read.chunk].offsets[1] + read.from[1] + b, j + to_column);
              }
          EXPECT_EQ(filled, std::vector<int>(filled.size(), 1)) << to_string(wanted);
        }
}

// Reads have PyTorch's order: by the chunks' ends along the longest dim.
TEST(LoadPlan, ReadsInTheOrderOfTheLongestDim) {
  std::vector<Box> chunks = {{{0, 4}, {2, 2}}, {{0, 0}, {2, 4}}};
  std::vector<BoxRead> reads = plan_reads(whole(Shape{2, 6}), chunks);
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_EQ(reads[0].chunk, 1u);
  EXPECT_EQ(reads[1].chunk, 0u);
  // All ends along the longest dim are equal, so the list's order counts.
  reads = plan_reads(whole(Shape{2, 3}), std::vector<Box>{{{1, 0}, {1, 3}}, {{0, 0}, {1, 3}}});
  EXPECT_EQ(reads[0].chunk, 0u);
}

TEST(LoadPlan, OfAScalarIsOneRead) {
  std::vector<Box> chunks = {whole(Shape{})};
  EXPECT_EQ(plan_reads(whole(Shape{}), chunks), (std::vector<BoxRead>{{0, {}, {}, {}}}));
}

}  // namespace
}  // namespace simmesh::checkpoint
