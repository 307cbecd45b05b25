#include "sharding/rules/rule_values.h"

#include <gtest/gtest.h>

#include "sharding/validate/joined_pieces.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

const Dims square_mesh = {2, 2};

// If this fails, the pieces of an input don't stand for the whole input, and right rules fail.
TEST(RuleValues, PiecesMakeTheWholeInput) {
  for (RuleValues values : {RuleValues::any, RuleValues::whole})
    for (const char* text : {"S(0),S(1)", "S(0),S(0)", "P(sum),S(0)", "S(1),P(avg)",
                             "P(sum),P(sum)", "P(max),R", "R,P(min)", "_S(0,2),R"}) {
      RuleDraw draw(values, 1);
      Placements placements = parse_placements(text);
      RuleOperand operand = draw_operand("ab", Shape{5, 3}, placements, square_mesh, draw);
      ASSERT_EQ(operand.pieces.size(), 4u);
      EXPECT_EQ(what_differs(
                    {.pieces = operand.pieces, .placements = placements, .mesh_shape = square_mesh},
                    operand.whole),
                "")
          << text;
    }
}

// If this fails, indices that a function looks up are numbers out of range.
TEST(RuleValues, GivenValuesAreRepeated) {
  RuleDraw draw(RuleValues::any, 0);
  RuleInput indices("m", tensor_of<std::int64_t>({2}, {7, 9}));
  Tensor whole = draw_operand(indices, Shape{5}, Placements{Replicate()}, Dims{2}, draw).whole;
  EXPECT_TRUE(same_bits(whole, tensor_of<std::int64_t>({5}, {7, 9, 7, 9, 7})));
  RuleInput none("m", zeros({0}, DType::int64));
  testing::expect_error(
      [&] { draw_operand(none, Shape{2}, Placements{Replicate()}, Dims{2}, draw); },
      ErrorKind::value_error, "expected an input with values to repeat, got none");
}

// If this fails, equal seeds judge unlike data, or all inputs of a trial are equal.
TEST(RuleValues, ValuesDependOnTheSeed) {
  auto drawn = [](std::uint64_t seed) {
    return RuleDraw(RuleValues::any, seed).draw(Shape{9}, DType::float32);
  };
  EXPECT_TRUE(same_bits(drawn(1), drawn(1)));
  EXPECT_FALSE(same_bits(drawn(1), drawn(2)));
  RuleDraw draw(RuleValues::whole, 1);
  EXPECT_FALSE(same_bits(draw.draw(Shape{9}, DType::float64), draw.draw(Shape{9}, DType::float64)));
}

TEST(RuleValues, ADimThatIsntThereIsRefused) {
  testing::expect_error(
      [] { piece_at(zeros({2}, DType::float32), Placements{Shard(1)}, Dims{2}, {0}); },
      ErrorKind::index_error, "expected a dim below 1 to cut, got S(1)");
}

}  // namespace
}  // namespace simmesh
