#include "zero/stage3/quantize.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/tensor/convert.h"
#include "core/tensor/formula.h"

namespace simmesh::zero {
namespace {

Tensor row_of(const std::vector<float>& values) {
  Tensor row = empty({std::int64_t(values.size())}, DType::float32);
  std::copy(values.begin(), values.end(), row.mutable_values<float>().begin());
  return row;
}

std::vector<float> there_and_back(const std::vector<float>& values, std::int64_t groups,
                                  std::int64_t bits) {
  Tensor back = dequantized(quantized(row_of(values), groups, bits), DType::float32);
  auto elements = back.values<float>();
  return {elements.begin(), elements.end()};
}

// The largest magnitude is exact where it is negative, and clipped where it is positive.
TEST(ZeroQuantize, ClipsThePositiveEnd) {
  EXPECT_EQ(there_and_back({-2, 1, 0, 2}, 1, 8), (std::vector<float>{-2, 1, 0, 127.0f / 64}));
  EXPECT_EQ(there_and_back({-2, 1, 0, 2}, 1, 4), (std::vector<float>{-2, 1, 0, 1.75f}));
}

TEST(ZeroQuantize, RoundsHalfToEven) {
  // With 4 bits and -8 the scale is 1.
  EXPECT_EQ(there_and_back({-8, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f}, 1, 4),
            (std::vector<float>{-8, 0, 2, 2, 0, -2}));
}

TEST(ZeroQuantize, GroupsHaveTheirOwnScales) {
  EXPECT_EQ(there_and_back({-8, 4, -0.5f, 0.25f, 0, 0}, 3, 4),
            (std::vector<float>{-8, 4, -0.5f, 0.25f, 0, 0}));
  EXPECT_EQ(quantized(row_of({0, 0}), 1, 4).scales.values<float>()[0], 1.0f);
}

// bfloat16 bits read as those of float16 would give other values altogether.
TEST(ZeroQuantize, TakesWeightsInAnyDtype) {
  Tensor values = formula({16}, {.rule = Rule::small, .seed = 3});
  Quantized expected = quantized_weights(values);
  for (DType dtype : {DType::bfloat16, DType::float16}) {
    Quantized same = quantized_weights(converted(values, dtype));
    EXPECT_EQ(same.scales.values<float>()[0], expected.scales.values<float>()[0]);
    auto a = same.codes.values<std::uint8_t>(), b = expected.codes.values<std::uint8_t>();
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
  EXPECT_EQ(dequantized(expected, DType::bfloat16).dtype(), DType::bfloat16);
}

// The error is at most half a step of the group, one step at the positive end, and what float16
// rounds away: 2^-11 of the value on the way in and out.
TEST(ZeroQuantize, ErrsByAtMostAStep) {
  Tensor values = formula({4, 40}, {.rule = Rule::unit, .seed = 5});
  for (std::int64_t bits : {4, 8}) {
    Tensor back = dequantized(quantized(values, 4, bits), DType::float32);
    auto x = values.values<float>(), y = back.values<float>();
    for (std::size_t group = 0; group < 4; ++group) {
      float largest = 0;
      for (std::size_t i = group * 40; i < (group + 1) * 40; ++i)
        largest = std::max(largest, std::abs(x[i]));
      float step = largest / float(1 << (bits - 1));
      for (std::size_t i = group * 40; i < (group + 1) * 40; ++i)
        EXPECT_LE(std::abs(x[i] - y[i]), step + largest * 0x1p-10f);
    }
  }
}

TEST(ZeroQuantize, CountsGroups) {
  EXPECT_EQ(weight_group_count(8), 1);
  EXPECT_EQ(weight_group_count(8000), 1);
  EXPECT_EQ(weight_group_count(8008), 7);  // 2 to 6 leave no multiple of 8
  EXPECT_EQ(weight_group_count(16000), 2);
  EXPECT_EQ(weight_group_count(1 << 20), 256);  // 132 to 255 don't divide it
  EXPECT_THROW(weight_group_count(12), Error);
  EXPECT_THROW(weight_group_count(0), Error);
}

TEST(ZeroQuantize, RefusesWhatCannotBeCut) {
  EXPECT_THROW(quantized(row_of({1, 2, 3}), 2, 8), Error);
  EXPECT_THROW(quantized(row_of({1, 2, 3}), 1, 4), Error);
  EXPECT_THROW(quantized(row_of({1, 2}), 1, 2), Error);
}

}  // namespace
}  // namespace simmesh::zero
