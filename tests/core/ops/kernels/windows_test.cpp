#include "core/ops/kernels/windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

// If this fails, a convolution or a pooling has rows or columns too many or too few.
TEST(Windows, CountWhatFitsIntoThePaddedImage) {
  Windows windows{.image = {5, 4}, .kernel = {2, 2}, .stride = {2, 1}};
  EXPECT_THAT(windows.count(), ElementsAre(2, 3));
  windows.padding = {1, 0};
  EXPECT_THAT(windows.count(), ElementsAre(3, 3));
  windows.dilation = {1, 3};
  EXPECT_THAT(windows.count(), ElementsAre(3, 1));
  Windows ceiled{.image = {5, 5}, .kernel = {2, 2}, .stride = {2, 3}, .ceil_mode = true};
  EXPECT_THAT(ceiled.count(), ElementsAre(3, 2));
  // One more window would begin in the padding behind the image.
  Windows beyond{
      .image = {3, 3}, .kernel = {1, 1}, .stride = {2, 2}, .padding = {0, 1}, .ceil_mode = true};
  EXPECT_THAT(beyond.count(), ElementsAre(2, 3));
}

TEST(Windows, RefuseWhatDoesntFit) {
  Windows windows{.image = {2, 2}, .kernel = {3, 1}};
  expect_error([&] { windows.check("conv2d"); }, ErrorKind::runtime_error, "conv2d");
  windows.padding = {1, 0};
  windows.check("conv2d");
  windows.stride = {0, 1};
  expect_error([&] { windows.check("conv2d"); }, ErrorKind::runtime_error, "conv2d");
}

// If this fails, an image's elements meet other weights than theirs.
TEST(Windows, UnfoldPutsEachWindowIntoAColumn) {
  const float image[] = {1, 2, 3, 4};  // 2 x 2
  VolumeWindows windows{.image = {1, 2, 2}, .kernel = {1, 1, 2}, .padding = {0, 0, 1}};
  ASSERT_THAT(windows.count(), ElementsAre(1, 2, 3));
  std::vector<float> columns(12, -7);
  unfold(reinterpret_cast<const std::byte*>(image), 1, DType::float32, windows,
         {.target = reinterpret_cast<std::byte*>(columns.data()), .row_stride = 6});
  // The left elements of the six windows, then the right ones.
  EXPECT_THAT(columns, ElementsAre(0, 1, 2, 0, 3, 4, 1, 2, 0, 3, 4, 0));
}

// If this fails, the layers of a volume are taken for rows.
TEST(Windows, UnfoldGoesThroughLayers) {
  const float volume[] = {1, 2, 3, 4, 5, 6};  // 3 x 1 x 2
  VolumeWindows windows{
      .image = {3, 1, 2}, .kernel = {2, 1, 1}, .stride = {2, 1, 1}, .padding = {1, 0, 0}};
  ASSERT_THAT(windows.count(), ElementsAre(2, 1, 2));
  std::vector<float> columns(8, -7);
  unfold(reinterpret_cast<const std::byte*>(volume), 1, DType::float32, windows,
         {.target = reinterpret_cast<std::byte*>(columns.data()), .row_stride = 4});
  EXPECT_THAT(columns, ElementsAre(0, 0, 3, 4, 1, 2, 5, 6));
}

}  // namespace
}  // namespace simmesh
