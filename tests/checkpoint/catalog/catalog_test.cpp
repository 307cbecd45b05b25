#include "checkpoint/catalog/catalog.h"

#include <gmock/gmock.h>
#include <limits>

#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::HasSubstr;

StoredTensor tensor_of_boxes(const Shape& shape, const std::vector<Box>& boxes) {
  StoredTensor tensor = {"w", StoredDType::f32, shape, {}};
  for (const Box& box : boxes) tensor.chunks.push_back({.box = box, .file = "f"});
  return tensor;
}

std::string problem(const Shape& shape, const std::vector<Box>& boxes) {
  return error_text([&] { check_chunks(tensor_of_boxes(shape, boxes)); });
}

// Two or three boxes of a 2 x 3 tensor pass only if each element is in one of them.
TEST(Catalog, ChunksHaveEachElementOnce) {
  std::vector<Box> all;
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 3; ++j)
      for (std::int64_t rows = 1; i + rows <= 2; ++rows)
        for (std::int64_t columns = 1; j + columns <= 3; ++columns)
          all.push_back({{i, j}, {rows, columns}});
  auto times_of = [](const std::vector<Box>& boxes) {
    std::vector<int> times(6, 0);
    for (const Box& box : boxes)
      for (std::int64_t i = box.offsets[0]; i < box.end(0); ++i)
        for (std::int64_t j = box.offsets[1]; j < box.end(1); ++j) ++times[std::size_t(3 * i + j)];
    return times;
  };
  std::int64_t right = 0;
  auto check = [&](const std::vector<Box>& boxes) {
    std::vector<int> times = times_of(boxes);
    std::string text = problem({2, 3}, boxes);
    bool is_twice = *std::max_element(times.begin(), times.end()) > 1;
    bool is_right = times == std::vector<int>(6, 1);
    right += is_right;
    ASSERT_EQ(text.empty(), is_right) << text;
    if (!is_right) {
      ASSERT_THAT(text, HasSubstr(is_twice ? "overlap" : "a shard is missing"));
    }
  };
  for (const Box& a : all)
    for (const Box& b : all) {
      check({a, b});
      for (const Box& c : all) check({a, b, c});
    }
  EXPECT_GT(right, 10);
}

TEST(Catalog, RefusesChunksThatLieElsewhere) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(problem({}, {{{}, {}}}), "");
  EXPECT_EQ(problem({0, 3}, {}), "");
  EXPECT_EQ(problem({2}, {{{0}, {2}}, {{2}, {0}}}), "");
  EXPECT_THAT(problem({}, {{{}, {}}, {{}, {}}}), HasSubstr("2 chunks, expected one"));
  EXPECT_THAT(problem({}, {}), HasSubstr("its chunks have 0 of 1 elements: a shard is missing"));
  EXPECT_THAT(problem({2}, {{{1}, {2}}}),
              HasSubstr("tensor 'w' of shape [2]: the chunk [1]+[2] is outside"));
  EXPECT_THAT(problem({2}, {{{1}, {huge}}}), HasSubstr("is outside"));
  EXPECT_THAT(problem({2}, {{{0, 0}, {2, 1}}}), HasSubstr("is outside"));
  EXPECT_THAT(problem({huge}, {}), HasSubstr("more than 2^60 bytes"));
  EXPECT_THAT(problem({huge, 2}, {}), HasSubstr("expected fewer than 2^63 elements"));
}

TEST(Catalog, NamesAreUnique) {
  Catalog catalog = {"test", {tensor_of_boxes({2}, {{{0}, {2}}})}, {{"step", {}, {}}}};
  check_catalog(catalog);
  EXPECT_EQ(catalog.find("w")->bytes(), 8);
  EXPECT_EQ(catalog.find("step"), nullptr);
  EXPECT_NE(catalog.find_object("step"), nullptr);
  EXPECT_EQ(catalog.find_object("w"), nullptr);
  catalog.objects.push_back({"w", {}, {}});
  EXPECT_THAT(error_text([&] { check_catalog(catalog); }), HasSubstr("the name 'w' comes twice"));
}

TEST(Catalog, CountsBytesOfNarrowElements) {
  EXPECT_EQ((StoredTensor{"w", StoredDType::f4, {3}, {}}.bytes()), 2);
  EXPECT_EQ((StoredTensor{"w", StoredDType::f6_e2m3, {4}, {}}.bytes()), 3);
}

}  // namespace
}  // namespace simmesh::checkpoint
