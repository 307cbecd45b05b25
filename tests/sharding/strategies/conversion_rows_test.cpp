#include "sharding/strategies/conversion_rows.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

std::string texts(DType from, DType to) {
  std::string text;
  for (const StrategyRow& row : conversion_rows(from, to, 2)) {
    EXPECT_EQ(2, row.inputs.size());
    EXPECT_EQ(row.inputs[0], row.outputs[0]);
    EXPECT_EQ(row.inputs[1], row.outputs[0]);
    text += to_string(*row.outputs[0]) + " ";
  }
  return text;
}

// A partial tensor is converted where that gives another whole.
TEST(ConversionRows, PassWhatCommutesWithTheConversion) {
  const std::string all = "P(sum) P(avg) P(max) P(min) ", extremes = "P(max) P(min) ";
  EXPECT_EQ(all, texts(DType::float32, DType::float32));
  EXPECT_EQ(all, texts(DType::float32, DType::bfloat16));
  EXPECT_EQ(all, texts(DType::boolean, DType::boolean));
  EXPECT_EQ(extremes, texts(DType::float32, DType::int64));
  EXPECT_EQ("P(sum) P(max) P(min) ", texts(DType::int32, DType::float32));
  EXPECT_EQ("P(sum) P(max) P(min) ", texts(DType::int32, DType::int64));
  EXPECT_EQ("P(sum) ", texts(DType::int64, DType::int32));
  EXPECT_EQ("P(sum) ", texts(DType::int64, DType::uint8));
  EXPECT_EQ(extremes, texts(DType::boolean, DType::int64));
  EXPECT_EQ("", texts(DType::int64, DType::boolean));
}

}  // namespace
}  // namespace simmesh
