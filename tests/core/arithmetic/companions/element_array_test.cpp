#include "core/arithmetic/companions/element_array.h"

#include <gtest/gtest.h>
#include <numeric>

namespace simmesh {
namespace {

// Twelve floats as rows of 4, columns of 3, every second of a row, and one row again and again.
struct Layouts {
  std::vector<float> data = std::vector<float>(12);
  Layouts() { std::iota(data.begin(), data.end(), 0.f); }
  ElementArray array(Shape shape, Strides strides, std::int64_t first = 0) {
    return {reinterpret_cast<std::byte*>(data.data() + first), DType::float32, std::move(shape),
            std::move(strides)};
  }
};

using Doubles = std::vector<double>;

// If this fails, an array is read in another order than its own.
TEST(ElementArray, ElementsAreReadInRowMajorOrder) {
  Layouts layouts;
  EXPECT_EQ(doubles_of(layouts.array({2, 3}, {3, 1})), (Doubles{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(doubles_of(layouts.array({3, 2}, {1, 3})), (Doubles{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(doubles_of(layouts.array({2}, {2}, 5)), (Doubles{5, 7}));
  EXPECT_EQ(doubles_of(layouts.array({2, 2}, {0, 1}, 3)), (Doubles{3, 4, 3, 4}));
  EXPECT_EQ(doubles_of(layouts.array({}, {}, 9)), (Doubles{9}));
  EXPECT_EQ(doubles_of(layouts.array({0, 3}, {3, 1})), Doubles{});
}

// If this fails, a copy is made of what lies in place, or a write goes astray.
TEST(ElementArray, WritesGoThroughStrides) {
  Layouts layouts;
  EXPECT_TRUE(is_row_major(layouts.array({2, 1, 3}, {3, 77, 1})));
  EXPECT_TRUE(is_row_major(layouts.array({0, 3}, {5, 5})));
  EXPECT_FALSE(is_row_major(layouts.array({3, 2}, {1, 3})));
  EXPECT_FALSE(is_row_major(layouts.array({2, 2}, {0, 1})));
  const float columns[] = {20, 21, 22, 23};
  write_row_major(layouts.array({2, 2}, {1, 4}), reinterpret_cast<const std::byte*>(columns));
  EXPECT_EQ(doubles_of(layouts.array({6}, {1})), (Doubles{20, 22, 2, 3, 21, 23}));
  ElementArray whole = layouts.array({12}, {1});
  EXPECT_EQ(RowMajorElements(whole).data(), whole.data);
  EXPECT_EQ(places_of(layouts.array({2, 2}, {1, 4})), (std::vector<std::int64_t>{0, 4, 1, 5}));
  EXPECT_EQ(places_of(whole).back(), 11);
}

}  // namespace
}  // namespace simmesh
