#include "sharding/placement/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::error_of;
using testing::expect_error;
using ::testing::HasSubstr;

std::vector<Placement> samples() {
  std::vector<Placement> list = {Replicate(),
                                 Shard(0),
                                 Shard(1),
                                 Shard(-1),
                                 StridedShard(0, 2),
                                 StridedShard(1, 2),
                                 StridedShard(0, 3),
                                 StridedShard(0, 1),
                                 MaskPartial(),
                                 MaskPartial(ReduceOp::sum, Shape{8, 4}, 1),
                                 MaskPartial(ReduceOp::sum, Shape{8, 4}),
                                 NormPartial(2),
                                 NormPartial(0.5),
                                 NormPartial(std::numeric_limits<double>::infinity()),
                                 RaggedShard({1, 0, 2}),
                                 RaggedShard({1, 0, 3}),
                                 RaggedShard({})};
  for (ReduceOp op : all_reduce_ops)
    if (op != ReduceOp::premul_sum) list.push_back(Partial(op));
  return list;
}

template <class Call>
std::string refusal(Call call, ErrorKind kind) {
  expect_error(call, kind);
  return std::string(error_of(call)->message());
}

// If this fails, two placements that mean the same compare as different, or different ones as
// equal.
TEST(Placement, EqualityOrderAndHashAgree) {
  const auto list = samples();
  for (std::size_t left = 0; left < list.size(); ++left) {
    for (std::size_t right = 0; right < list.size(); ++right) {
      SCOPED_TRACE(to_string(list[left]) + " and " + to_string(list[right]));
      EXPECT_EQ(list[left] == list[right], left == right);
      EXPECT_EQ((list[left] <=> list[right]) == 0, left == right);
      EXPECT_EQ(list[left]<list[right], list[right]> list[left]);
      EXPECT_EQ(hash_value(list[left]) == hash_value(list[right]), left == right);
    }
  }
  EXPECT_EQ(RaggedShard({1, 2}), RaggedShard({1, 2}));
  EXPECT_EQ(hash_value(RaggedShard({1, 2})), hash_value(RaggedShard({1, 2})));
}

// If this fails, printed placements can't be read back.
TEST(Placement, TextIsReadBack) {
  Placements list;
  for (const Placement& placement : samples()) {
    EXPECT_EQ(parse_placement(to_string(placement)), placement);
    list.push_back(placement);
  }
  EXPECT_EQ(parse_placements(to_string(list)), list);
}

// If this fails, the words of the recorded cases change.
TEST(Placement, PrintsTheWordsOfTheCases) {
  EXPECT_EQ(
      to_string(parse_placements(" R , S( 0 ),_S(1, 2),P(avg) ,MaskP,NormP(2),Ragged([1, 0])")),
      "R,S(0),_S(1,2),P(avg),MaskP,NormP(2),Ragged([1,0])");
  EXPECT_EQ(to_string(NormPartial(std::numeric_limits<double>::infinity())), "NormP(inf)");
  EXPECT_TRUE(parse_placements("").empty());
  EXPECT_EQ(to_string(Placement()), "R");
}

// If this fails, a lookup isn't told from one in another table.
TEST(Placement, LookupsNameTheirTable) {
  Placement lookup = parse_placement("MaskP( sum , [8, 4], 1 )");
  EXPECT_EQ(to_string(lookup), "MaskP(sum,[8,4],1)");
  EXPECT_EQ(Shape(lookup.table_shape().begin(), lookup.table_shape().end()), (Shape{8, 4}));
  EXPECT_EQ(lookup.table_dim(), 1);
  EXPECT_TRUE(lookup.units().empty());
  EXPECT_FALSE(lookup == MaskPartial());
  EXPECT_THROW(MaskPartial(ReduceOp::sum, Shape{8, 4}, 2), Error);
  EXPECT_THROW(MaskPartial(ReduceOp::max, Shape{8, 4}, 0), Error);
  EXPECT_LE(sizeof(Placement), 32u);
}

// If this fails, bad text is accepted, ends the process, or its error doesn't name the mistake.
TEST(Placement, BadTextIsRefusedWithTheTextShown) {
  for (const char* text : {"X",
                           "MaskP()",
                           "MaskP(sum,[],0)",
                           "MaskP(sum,[8,4])",
                           "MaskP(sum,[8,4],2)",
                           "MaskP(max,[8,4],0)",
                           "MaskP([8],0)",
                           "S",
                           "S()",
                           "S(a)",
                           "S(0",
                           "_S(0)",
                           "_S(0,1,2)",
                           "S(0,1)",
                           "P",
                           "r",
                           "NormP()",
                           "NormP(nan)",
                           "Ragged(1)",
                           "Ragged([1,])",
                           "S(99)",
                           "_S(0,0)",
                           "Ragged([-1])",
                           "P(premul_sum)",
                           "P(prod)",
                           "S(1) R",
                           "S(99999999999999999999)"})
    refusal([&] { parse_placement(text); }, ErrorKind::value_error);
  for (const char* text : {",", "R,", ",R", "R,,R", "R;R", "S(0),)", "S(0,R"})
    EXPECT_THAT(refusal([&] { parse_placements(text); }, ErrorKind::value_error), HasSubstr(text));
  EXPECT_THAT(refusal([] { parse_placements("R,_S(0,0)"); }, ErrorKind::value_error),
              HasSubstr("entry 1 of the list 'R,_S(0,0)': expected a split factor of at least 1"));
}

// If this fails, negative or impossible dims reach the planners.
TEST(Placement, DimsAreNormalised) {
  EXPECT_EQ(normalized(parse_placements("S(-1),R,_S(-2,3)"), 2),
            parse_placements("S(1),R,_S(0,3)"));
  const auto message =
      refusal([] { normalized(parse_placements("R,S(2)"), 2); }, ErrorKind::index_error);
  EXPECT_THAT(message,
              HasSubstr("Dimension out of range (expected to be in range of [-2, 1], but got 2)"));
  refusal([] { normalized(parse_placements("S(-3)"), 2); }, ErrorKind::index_error);
  EXPECT_THAT(refusal([] { normalized(parse_placements("S(0)"), 0); }, ErrorKind::assertion_error),
              HasSubstr("Expected tensor.dim() > 0"));
  EXPECT_EQ(normalized(parse_placements("P(sum),R"), 0), parse_placements("P(sum),R"));
}

// If this fails, code that asks for a property of a placement gets a wrong answer.
TEST(Placement, KindsAnswerForThemselves) {
  EXPECT_TRUE(Shard(1).is_shard(1));
  EXPECT_FALSE(Shard(1).is_shard(0));
  EXPECT_FALSE(StridedShard(1, 2).is_shard());
  EXPECT_TRUE(StridedShard(1, 2).splits(1));
  EXPECT_TRUE(RaggedShard({1}).splits(0));
  EXPECT_EQ(Shard(1).split_factor(), 1);
  EXPECT_EQ(StridedShard(1, 2).split_factor(), 2);
  EXPECT_TRUE(MaskPartial().is_partial());
  EXPECT_FALSE(MaskPartial().is_plain_partial());
  EXPECT_EQ(NormPartial(-std::numeric_limits<double>::infinity()).reduce_op(), ReduceOp::min);
  EXPECT_EQ(NormPartial(2.5).norm(), 2.5);
  EXPECT_FALSE(Replicate().is_partial());
  EXPECT_TRUE(has_partial(Placements{Shard(0), MaskPartial()}));
  EXPECT_FALSE(has_partial(Placements{Shard(0), Replicate()}));
  EXPECT_FALSE(has_partial({}));
}

}  // namespace
}  // namespace simmesh
