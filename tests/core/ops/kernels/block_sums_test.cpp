#include "core/ops/kernels/block_sums.h"

#include <gtest/gtest.h>

#include "core/engine/options/arithmetic.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/convert.h"

namespace simmesh {
namespace {

std::string block_sums(const BlockSum& sum) {
  Tensor out = empty(sum.x.shape(), sum.x.dtype());
  add_blocks(sum, out);
  return to_string(out);
}

// If this fails, gradients of an embedding go to other rows, or to one of them once too often.
TEST(BlockSums, AddEachBlockWhereItsPlaceSays) {
  Tensor x = tensor_of<std::int64_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor source = tensor_of<std::int64_t>({3, 2}, {10, 20, 100, 200, 1000, 2000});
  Places places = {2, -1, 2};
  EXPECT_EQ(block_sums({.x = x, .places = places, .block = 2, .source = source}),
            "int64[3, 2] {1, 2, 3, 4, 1015, 2026}");
  EXPECT_EQ(block_sums({.x = x, .places = places, .block = 2, .source = source, .alpha = -1}),
            "int64[3, 2] {1, 2, 3, 4, -1005, -2014}");
}

// If this fails, sums of 16-bit elements are rounded at each term.
TEST(BlockSums, RoundOnceInThePlainArithmetic) {
  Tensor x = converted(tensor_of<float>({1}, {256}), DType::bfloat16);
  Tensor source = converted(tensor_of<float>({2}, {1, 1}), DType::bfloat16);
  Places places = {0, 0};
  EXPECT_EQ(block_sums({.x = x, .places = places, .source = source}), "bfloat16[1] {258}");
}

// If this fails, exact arithmetic depends on the order of the terms after all.
TEST(BlockSums, LoseNothingInExactArithmetic) {
  Tensor x = tensor_of<float>({1}, {0x1p30f}), source = tensor_of<float>({2}, {1, -0x1p30f});
  Places places = {0, 0};
  BlockSum sum{.x = x, .places = places, .source = source};
  EXPECT_EQ(block_sums(sum), "float32[1] {0}");
  static const Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  EXPECT_EQ(block_sums(sum), "float32[1] {1}");
}

}  // namespace
}  // namespace simmesh
