#include "core/ops/memory_overlap.h"

#include <gtest/gtest.h>

#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/views.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

// An operation in place must not read what it has written, nor write a place twice.
TEST(MemoryOverlap, RefusesWhatPyTorchRefuses) {
  Tensor x = tensor_of<float>({4}, {1, 2, 3, 4});
  Tensor expanded = expand(x, {2, 4});
  EXPECT_TRUE(repeats_elements(expanded));
  testing::expect_error([&] { add_(expanded, 1); }, ErrorKind::runtime_error,
                        "more than one element of the written-to tensor");
  Tensor first = narrow(x, {.dim = 0, .start = 0, .length = 3});
  Tensor last = narrow(x, {.dim = 0, .start = 1, .length = 3});
  testing::expect_error([&] { add_(first, last); }, ErrorKind::runtime_error,
                        "some elements of the input tensor and the written-to tensor");
  Tensor square = view(x, {2, 2});
  testing::expect_error([&] { add_(square, t(square)); }, ErrorKind::runtime_error,
                        "some elements of the input tensor");
}

// Operands that are the same elements, or others of the storage, are right.
TEST(MemoryOverlap, AllowsTheSameElementsAndOthers) {
  Tensor x = tensor_of<float>({4}, {1, 2, 3, 4});
  add_(x, x);
  Tensor first = narrow(x, {.dim = 0, .start = 0, .length = 2});
  add_(first, narrow(x, {.dim = 0, .start = 2, .length = 2}));
  EXPECT_TRUE(same_bits(x, tensor_of<float>({4}, {8, 12, 6, 8})));
  EXPECT_FALSE(repeats_elements(expand(narrow(x, {.dim = 0, .start = 0, .length = 1}), {1})));
}

// One value for all places may be written through a tensor that repeats them.
TEST(MemoryOverlap, FillsATensorThatRepeatsElements) {
  Tensor x = zeros({2}, DType::float32), expanded = expand(x, {3, 2});
  fill_(expanded, 7);
  EXPECT_TRUE(same_bits(x, full({2}, DType::float32, 7)));
}

}  // namespace
}  // namespace simmesh
