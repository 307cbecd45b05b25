#include "sharding/rules/rule_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::Contains;
using ::testing::SizeIs;

const std::vector<RulePieces> all_kinds = {RulePieces::even, RulePieces::uneven, RulePieces::few,
                                           RulePieces::none};

std::vector<std::string> shapes_of(const std::vector<RuleInput>& inputs, const RuleText& rule,
                                   std::int64_t ranks) {
  std::vector<std::string> texts;
  std::vector<RuleRow> rows = parse_rule(rule).rows;
  for (const RuleShapes& shapes : rule_shapes(inputs, rows, ranks, all_kinds))
    texts.push_back(to_string(shapes));
  return texts;
}

// If this fails, a rule isn't judged on pieces that are uneven, missing or empty.
TEST(RuleInput, CutDimsHaveSizesOfAllKinds) {
  std::vector<std::string> shapes = shapes_of({"mk", "kn"}, "S(0), R -> S(0)", 3);
  EXPECT_THAT(shapes, SizeIs(7));
  EXPECT_EQ(shapes[0], "[0, 3], [3, 3]");
  for (const char* text : {"[1, 3], [3, 3]", "[2, 3], [3, 3]", "[3, 3], [3, 3]", "[4, 3], [3, 3]",
                           "[5, 3], [3, 3]", "[6, 3], [3, 3]"})
    EXPECT_THAT(shapes, Contains(text));
  EXPECT_THAT(shapes_of({"mk", "kn"}, "S(1), S(0) -> P", 2), Contains("[3, 4], [4, 3]"));
}

// If this fails, sizes of two cut dims are never unlike.
TEST(RuleInput, TwoCutDimsVaryApart) {
  EXPECT_THAT(shapes_of({"ab"}, {"S(0) -> S(0)", "S(1) -> S(1)"}, 2), Contains("[3, 4]"));
  EXPECT_THAT(shapes_of({"abc"}, {"S(0) -> R", "S(1) -> R", "S(2) -> R"}, 2), SizeIs(5));
}

// If this fails, a size that the author fixes varies, or numbers alone don't.
TEST(RuleInput, NumbersStayBesideLetters) {
  EXPECT_THAT(shapes_of({"m 8", "8,2"}, {"S(0), R -> S(0)"}, 2), Contains("[4, 8], [8, 2]"));
  EXPECT_THAT(shapes_of({"6 4", "4 6"}, {"S(0), S(1) -> R"}, 2), Contains("[4, 3], [3, 4]"));
}

TEST(RuleInput, RefusesOtherSigns) {
  for (const char* text : {"m-k", "m*", "1234567", "m.k"})
    testing::expect_error([&] { RuleInput input(text); }, ErrorKind::value_error,
                          "expected letters such as 'mk'");
}

}  // namespace
}  // namespace simmesh
