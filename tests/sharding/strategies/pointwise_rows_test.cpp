#include "sharding/strategies/pointwise_rows.h"

#include <gtest/gtest.h>

#include "sharding/strategies/partial_rows.h"

namespace simmesh {
namespace {

std::vector<std::string> texts(const StrategyRows& rows) {
  std::vector<std::string> result;
  for (const StrategyRow& row : rows) {
    std::string text;
    for (const auto& input : row.inputs) text += (input ? to_string(*input) : "-") + " ";
    result.push_back(text + "-> " + to_string(*row.outputs[0]));
  }
  return result;
}

using Texts = std::vector<std::string>;

// A dim that an operand lacks, or repeats, is split as if it were there.
TEST(PointwiseRows, BroadcastDimsAreReplicated) {
  TensorTypes inputs = {{{3, 1, 5}}, {{4, 1}}}, outputs = {{{3, 4, 5}}};
  Attributes none;
  EXPECT_EQ(texts(elementwise_rows({inputs, outputs, none})),
            (Texts{"S(0) R -> S(0)", "R S(0) -> S(1)", "S(2) R -> S(2)"}));
}

// A row of two partial tensors is used for a call of a tensor and a number.
TEST(PointwiseRows, PartialRowsHaveAsManyTensorsAsTheCall) {
  TensorTypes number = {{{}}}, pair = {{{}}, {{}, DType::float32, false}, {{}}};
  Attributes none;
  StrategyRows rows = joined({linear_rows(), quotient_rows()});
  EXPECT_EQ(texts(elementwise_rows({number, number, none}, rows)),
            (Texts{"P(sum) -> P(sum)", "P(avg) -> P(avg)"}));
  EXPECT_EQ(texts(elementwise_rows({pair, number, none}, rows)),
            (Texts{"P(sum) - R -> P(sum)", "P(avg) - R -> P(avg)"}));
}

// A result computed from averages of integers, which have no fraction, isn't the average of the
// results; an op that passes them on may take them.
TEST(PointwiseRows, OnlyPassedIntegersAreAveraged) {
  Attributes none;
  for (DType dtype : {DType::float32, DType::int64}) {
    TensorTypes one = {{{}, dtype}};
    StrategyRequest call{one, one, none};
    EXPECT_EQ(texts(elementwise(linear_rows()).rows(call)).size(), dtype == DType::int64 ? 1 : 2);
    EXPECT_EQ(texts(passing().rows(call)), (Texts{"P(sum) -> P(sum)", "P(avg) -> P(avg)",
                                                  "P(max) -> P(max)", "P(min) -> P(min)"}));
  }
}

}  // namespace
}  // namespace simmesh
