#include "core/tensor/chunk.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// If this fails, elements are lost or held twice when a dim is sharded.
TEST(Chunk, PartsCoverTheDimInOrder) {
  for (std::int64_t size = 0; size <= 12; ++size)
    for (std::int64_t parts = 1; parts <= 14; ++parts) {
      std::int64_t at = 0;
      for (std::int64_t index = 0; index < parts; ++index) {
        Chunk chunk = chunk_of({.size = size, .parts = parts, .index = index});
        EXPECT_EQ(chunk.start, at) << size << "/" << parts << "[" << index << "]";
        EXPECT_GE(chunk.length, 0);
        at += chunk.length;
      }
      EXPECT_EQ(at, size);
    }
}

// If this fails, uneven shards differ from torch.chunk's.
TEST(Chunk, LastPartsAreShortOrEmpty) {
  auto length = [](std::int64_t size, std::int64_t parts, std::int64_t index) {
    return chunk_of({.size = size, .parts = parts, .index = index}).length;
  };
  EXPECT_EQ(length(7, 3, 0), 3);
  EXPECT_EQ(length(7, 3, 2), 1);
  EXPECT_EQ(length(5, 4, 1), 2);
  EXPECT_EQ(length(5, 4, 2), 1);
  EXPECT_EQ(length(5, 4, 3), 0);
  EXPECT_EQ(length(1, 3, 0), 1);
  EXPECT_EQ(length(1, 3, 1), 0);
}

}  // namespace
}  // namespace simmesh
