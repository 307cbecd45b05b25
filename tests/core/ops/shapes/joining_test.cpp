#include "core/ops/shapes/joining.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/ops/shapes/views.h"

namespace simmesh {
namespace {

Tensor pair(float a, float b) { return tensor_of<float>({2}, {a, b}); }

TEST(Joining, CatAlongEachDim) {
  Tensor a = tensor_of<float>({2, 1}, {1, 2}), b = tensor_of<float>({2, 2}, {3, 4, 5, 6});
  EXPECT_EQ(to_string(cat({a, b}, 1)), "float32[2, 3] {1, 3, 4, 2, 5, 6}");
  EXPECT_EQ(to_string(cat({b, t(b)}, -2)), "float32[4, 2] {3, 4, 5, 6, 3, 5, 4, 6}");
  EXPECT_THROW(cat({a, b}, 0), Error);
  EXPECT_THROW(cat({}, 0), Error);
  EXPECT_THROW(cat({tensor_of<float>({}, {1})}, 0), Error);
}

// PyTorch leaves vectors without elements out, whatever the dims of the others.
TEST(Joining, CatLeavesEmptyVectorsOut) {
  Tensor none = empty({0}, DType::float32);
  EXPECT_EQ(to_string(cat({none, tensor_of<float>({1, 2}, {1, 2}), none}, 1)),
            "float32[1, 2] {1, 2}");
  EXPECT_EQ(cat({none, none}).shape(), Shape{0});
}

TEST(Joining, CatAndStackPromote) {
  Tensor whole = tensor_of<std::int64_t>({2}, {1, 2});
  EXPECT_EQ(to_string(cat({whole, pair(0.5, 1)})), "float32[4] {1, 2, 0.5, 1}");
  EXPECT_EQ(to_string(stack({whole, pair(0.5, 1)})), "float32[2, 2] {1, 2, 0.5, 1}");
}

TEST(Joining, StackMakesADim) {
  EXPECT_EQ(to_string(stack({pair(1, 2), pair(3, 4)}, -1)), "float32[2, 2] {1, 3, 2, 4}");
  EXPECT_EQ(to_string(stack({tensor_of<float>({}, {7})})), "float32[1] {7}");
  EXPECT_THROW(stack({pair(1, 2), tensor_of<float>({1}, {1})}), Error);
}

TEST(Joining, RowsAndColumns) {
  std::vector<Tensor> vectors = {pair(1, 2), pair(3, 4)};
  EXPECT_EQ(to_string(hstack(vectors)), "float32[4] {1, 2, 3, 4}");
  EXPECT_EQ(to_string(vstack(vectors)), "float32[2, 2] {1, 2, 3, 4}");
}

}  // namespace
}  // namespace simmesh
