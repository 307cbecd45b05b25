#include "core/ops/neural/pooling.h"

#include <gtest/gtest.h>
#include <limits>

#include "core/check/error.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {
namespace {

Tensor from_one_to_25() {
  Tensor x = empty({1, 5, 5}, DType::float64);
  double next = 1;
  for (double& value : x.mutable_values<double>()) value = next++;
  return x;
}

TEST(Pooling, MaxTakesTheFirstOfEqualElements) {
  Tensor x = tensor_of<float>({1, 1, 2, 4}, {5, 5, 1, 2, 5, 5, 4, 3});
  Pooled pooled = max_pool2d_with_indices(x, {.kernel = {2, 2}});
  EXPECT_EQ(to_string(pooled.values), "float32[1, 1, 1, 2] {5, 4}");
  EXPECT_EQ(to_string(pooled.indices), "int64[1, 1, 1, 2] {0, 6}");
}

TEST(Pooling, MaxNeverTakesPaddingAndPassesNan) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor x = tensor_of<float>({1, 1, 4}, {-1, -2, nan, -4});
  EXPECT_EQ(to_string(max_pool1d(x, {.kernel = 2, .padding = 1})),
            "float32[1, 1, 3] {-1, nan, -4}");
  EXPECT_THROW(max_pool1d(x, {.kernel = 2, .padding = 2}), Error);
  EXPECT_THROW(max_pool1d(x, {.kernel = 5}), Error);
}

TEST(Pooling, AveragesCountPaddingUnlessToldNotTo) {
  Tensor x = tensor_of<float>({1, 4}, {1, 2, 3, 4});
  EXPECT_EQ(to_string(avg_pool1d(x, {.kernel = 2})), "float32[1, 2] {1.5, 3.5}");
  EXPECT_EQ(to_string(avg_pool1d(x, {.kernel = 2, .padding = 1})), "float32[1, 3] {0.5, 2.5, 2}");
  EXPECT_EQ(to_string(avg_pool1d(x, {.kernel = 2, .padding = 1, .count_include_pad = false})),
            "float32[1, 3] {1, 2.5, 4}");
  Tensor image = tensor_of<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(to_string(avg_pool2d(image, {.kernel = {2, 2}, .stride = {1, 1}})),
            "float32[1, 1, 2] {3, 4}");
}

// In ceil mode the last window may reach beyond the image; places beyond don't count, and those in
// the padding do unless told not to. The values are PyTorch's.
TEST(Pooling, CeilModeAddsAWindowThatBeginsInside) {
  Tensor x = from_one_to_25();
  Pooling2d options{.kernel = {2, 2}, .ceil_mode = true};
  EXPECT_EQ(to_string(avg_pool2d(x, options)),
            "float64[1, 3, 3] {4, 6, 7.5, 14, 16, 17.5, 21.5, 23.5, 25}");
  EXPECT_EQ(to_string(max_pool2d(x, options)),
            "float64[1, 3, 3] {7, 9, 10, 17, 19, 20, 22, 24, 25}");
  options = {.kernel = {2, 2}, .stride = {3, 3}, .padding = {1, 1}, .ceil_mode = true};
  EXPECT_EQ(to_string(avg_pool2d(x, options)), "float64[1, 2, 2] {0.25, 1.75, 6.75, 16}");
  EXPECT_EQ(to_string(max_pool2d(x, options)), "float64[1, 2, 2] {1, 4, 16, 19}");
  options.count_include_pad = false;
  EXPECT_EQ(to_string(avg_pool2d(x, options)), "float64[1, 2, 2] {1, 3.5, 13.5, 16}");
  Tensor row = tensor_of<float>({1, 5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(to_string(avg_pool1d(row, {.kernel = 2, .ceil_mode = true})),
            "float32[1, 3] {1.5, 3.5, 5}");
}

// A third of 256 + 1 + 1 is 86; it would be 85.5 if each addition were rounded.
TEST(Pooling, SixteenBitAveragesAreRoundedOnce) {
  Tensor x = converted(tensor_of<float>({1, 3}, {256, 1, 1}), DType::bfloat16);
  EXPECT_EQ(to_string(avg_pool1d(x, {.kernel = 3})), "bfloat16[1, 1] {86}");
}

TEST(Pooling, AdaptiveWindowsOverlapWhereSizesDontDivide) {
  Tensor x = tensor_of<float>({1, 1, 3}, {1, 2, 6});
  EXPECT_EQ(to_string(adaptive_avg_pool2d(x, {1, 2})), "float32[1, 1, 2] {1.5, 4}");
  EXPECT_EQ(to_string(adaptive_avg_pool2d(x, {1, 1})), "float32[1, 1, 1] {3}");
  EXPECT_EQ(to_string(adaptive_avg_pool2d(x, {2, 3})), "float32[1, 2, 3] {1, 2, 6, 1, 2, 6}");
  EXPECT_THROW(adaptive_avg_pool2d(x, {0, 1}), Error);
}

}  // namespace
}  // namespace simmesh
