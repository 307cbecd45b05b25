#include "core/tensor/flat.h"

#include <array>
#include <gtest/gtest.h>

#include "core/check/error.h"

namespace simmesh {
namespace {

std::vector<Tensor> two_tensors() {
  return {tensor_of<float>({2, 2}, {1, 2, 3, 4}).transpose(0, 1), tensor_of<float>({1}, {5})};
}

// Elements come in row-major order of each tensor, whatever its strides are.
TEST(Flat, HoldsTensorsOneAfterAnother) {
  EXPECT_TRUE(
      same_bits(flattened(two_tensors(), DType::float32), tensor_of<float>({5}, {1, 3, 2, 4, 5})));
  EXPECT_EQ(flattened({}, DType::int64).numel(), 0);
}

// Parts are views: a write to them is in the flat tensor.
TEST(Flat, GivesPartsThatViewIt) {
  Tensor flat = flattened(two_tensors(), DType::float32);
  std::array<Shape, 3> shapes = {Shape{2}, Shape{0, 4}, Shape{1, 2}};
  std::vector<Tensor> parts = flat_parts(flat, shapes, 1);
  EXPECT_TRUE(same_bits(parts[0], tensor_of<float>({2}, {3, 2})));
  EXPECT_EQ(parts[1].shape(), (Shape{0, 4}));
  copy_(parts[2], tensor_of<float>({1, 2}, {8, 9}));
  EXPECT_TRUE(same_bits(flat, tensor_of<float>({5}, {1, 3, 2, 8, 9})));
  EXPECT_THROW(flat_parts(flat, shapes, 3), Error);
}

TEST(Flat, ShowsBytes) {
  Tensor bytes = as_bytes(tensor_of<std::int32_t>({2}, {1, 258}).narrow({0, 1, 1}));
  EXPECT_TRUE(same_bits(bytes, tensor_of<std::uint8_t>({4}, {2, 1, 0, 0})));
}

}  // namespace
}  // namespace simmesh
