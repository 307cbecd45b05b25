#include "checkpoint/deepspeed/flat_line.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

// In runs of 3, 0, 5 and 4 elements, each in a file of its own, the chunks of a tensor cover it
// once wherever it begins, and each element has its place.
TEST(FlatLine, PutsEveryElementAtItsPlace) {
  FlatLine line(StoredDType::f32);
  std::vector<std::pair<std::string, std::int64_t>> places;
  for (auto [file, count] : {std::pair("a", 3), {"b", 0}, {"c", 5}, {"d", 4}}) {
    line.add(file, 100, count);
    for (int i = 0; i < count; ++i) places.emplace_back(file, 100 + 4 * i);
  }
  ASSERT_EQ(line.count(), 12);
  for (const Shape& shape : {Shape{2, 3}, {6}, {3, 2, 2}, {}, {0, 4}, {12}}) {
    std::int64_t count = numel(shape);
    for (std::int64_t at = 0; at + count <= 12; ++at) {
      StoredTensor tensor = {"w", StoredDType::f32, shape, {}};
      line.add_chunks(tensor, {0, count}, at);
      check_chunks(tensor);
      Strides strides = contiguous_strides(shape);
      for (const StoredChunk& chunk : tensor.chunks) {
        auto first = std::size_t(at + element_offset(chunk.box.offsets, strides));
        EXPECT_EQ(places[first], std::pair(chunk.file, chunk.begin));
        EXPECT_EQ(chunk.bytes, 4 * chunk.box.numel());
        EXPECT_EQ(places[first + std::size_t(chunk.box.numel()) - 1],
                  std::pair(chunk.file, chunk.begin + chunk.bytes - 4));
      }
    }
  }
}

TEST(FlatLine, RefusesARangeBehindItsEnd) {
  FlatLine line(StoredDType::f32);
  line.add("a", 0, 5);
  StoredTensor tensor = {"w", StoredDType::f32, {4}, {}};
  auto problem = [&](std::int64_t at) {
    return simmesh::testing::error_text([&] { line.add_chunks(tensor, {0, 4}, at); });
  };
  EXPECT_EQ(problem(1), "");
  EXPECT_THAT(problem(2), ::testing::HasSubstr("'w': elements [2, 6) of a flat group of 5"));
  EXPECT_NE(problem(6), "");
}

}  // namespace
}  // namespace simmesh::checkpoint
