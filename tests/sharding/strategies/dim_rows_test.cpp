#include "sharding/strategies/dim_rows.h"

#include <gtest/gtest.h>

#include "core/ops/attribute_names.h"

namespace simmesh {
namespace {

const Placement partial = Partial(ReduceOp::sum), average = Partial(ReduceOp::avg);

TensorType matrix(DType dtype = DType::float32) { return {{4, 6}, dtype}; }

std::vector<std::string> text_of(const StrategyRows& rows) {
  std::vector<std::string> result;
  for (const StrategyRow& row : rows) {
    std::string text;
    for (const auto& entry : row.inputs) text += (entry ? to_string(*entry) : "none") + " ";
    text += "->";
    for (const auto& entry : row.outputs) text += " " + (entry ? to_string(*entry) : "none");
    result.push_back(text);
  }
  return result;
}

using Texts = std::vector<std::string>;

// An absent input has no placement.
TEST(DimRows, SplitsAllThatIsThere) {
  TensorType inputs[] = {matrix(), {{}, DType::float32, false}, matrix()}, outputs[] = {matrix()};
  Attributes attributes;
  StrategyRequest call{inputs, outputs, attributes};
  EXPECT_EQ(text_of({common_dim_row(call, 1)}), (Texts{"S(1) none S(1) -> S(1)"}));
  EXPECT_EQ(text_of(kept_dim_rows(call, Dims{0})), (Texts{"S(1) none S(1) -> S(1)"}));
  EXPECT_EQ(kept_dim_rows(call).size(), 2u);
}

// A dim counted from the end is the same dim.
TEST(DimRows, GoesAlongNegativeDims) {
  TensorType inputs[] = {matrix()}, outputs[] = {matrix(), matrix()};
  Attributes attributes = {attribute::dim = -1};
  ShardingStrategy strategy = along_dim({rule({partial}, {partial, partial})});
  EXPECT_EQ(text_of(strategy.rows({inputs, outputs, attributes})),
            (Texts{"S(0) -> S(0) S(0)", "P(sum) -> P(sum) P(sum)"}));
  EXPECT_TRUE(strategy.accepts_short_dims);
}

// Dims after a reduced one move to the front, unless it is kept with size one.
TEST(DimRows, ReducesDims) {
  TensorType inputs[] = {{{2, 3, 4}}}, outputs[] = {{{2, 4}}};
  Attributes attributes = {attribute::dims = Dims{1}};
  EXPECT_EQ(text_of(reduction_rows({inputs, outputs, attributes}, partial)),
            (Texts{"S(0) -> S(0)", "S(1) -> P(sum)", "S(2) -> S(1)"}));
  EXPECT_EQ(text_of(reduction_rows({inputs, outputs, attributes})),
            (Texts{"S(0) -> S(0)", "S(2) -> S(1)"}));
  attributes.set(attribute::keepdim = true);
  EXPECT_EQ(text_of(reduction().rows({inputs, outputs, attributes})),
            (Texts{"S(0) -> S(0)", "S(2) -> S(2)"}));
}

// Averages of integers are rounded, sums of truth values are not sums.
TEST(DimRows, LeavesOutWhatIsNotLinear) {
  StrategyRows rows = {rule({partial}, partial), rule({average}, average),
                       rule({Shard(0)}, partial)};
  TensorType outputs[] = {matrix()};
  Attributes attributes;
  auto kept = [&](DType dtype) {
    TensorType inputs[] = {matrix(dtype)};
    return text_of(linear_in({inputs, outputs, attributes}, rows));
  };
  EXPECT_EQ(kept(DType::float32).size(), 3u);
  EXPECT_EQ(kept(DType::int64), (Texts{"P(sum) -> P(sum)", "S(0) -> P(sum)"}));
  EXPECT_EQ(kept(DType::boolean), (Texts{"S(0) -> P(sum)"}));
}

}  // namespace
}  // namespace simmesh
