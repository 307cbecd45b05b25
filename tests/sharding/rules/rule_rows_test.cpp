#include "sharding/rules/rule_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> texts_of(const RuleText& rule) {
  std::vector<std::string> texts;
  for (const RuleRow& row : parse_rule(rule).rows) texts.push_back(to_string(row));
  return texts;
}

// If this fails, an author's rule is read as another one.
TEST(RuleRows, ReadsRowsOfPlacements) {
  EXPECT_THAT(texts_of("S(0), R -> S(0)"), ElementsAre("S(0), R -> S(0)"));
  EXPECT_THAT(texts_of(" _S(1, 2),P->P(avg) , R"), ElementsAre("_S(1,2), P(sum) -> P(avg), R"));
  EXPECT_THAT(texts_of("S(0) -> S(0)\n\n  R -> R"), ElementsAre("S(0) -> S(0)", "R -> R"));
  EXPECT_THAT(texts_of({"P(min) -> P(min)", "P(max) -> P(max)", "P(min) -> P(min)"}),
              ElementsAre("P(min) -> P(min)", "P(max) -> P(max)"));
  EXPECT_TRUE(parse_rule("R, R -> R").rows[0].is_replicated());
  EXPECT_FALSE(parse_rule("R, R -> P").rows[0].is_replicated());
}

// If this fails, a letter that no output has isn't summed, or cuts a wrong dim.
TEST(RuleRows, ReadsLetters) {
  RuleRows rule = parse_rule("mk, kn -> mn");
  EXPECT_THAT(texts_of("mk, kn -> mn"), ElementsAre("R, R -> R", "S(0), R -> S(0)",
                                                    "S(1), S(0) -> P(sum)", "R, S(1) -> S(1)"));
  EXPECT_THAT(*rule.letters, ElementsAre("mk", "kn"));
  EXPECT_FALSE(parse_rule("R, P -> P").letters);
  EXPECT_TRUE(parse_rule("R, k -> k").letters);
}

TEST(RuleRows, RefusesWhatIsNoRule) {
  auto refuses = [](const RuleText& rule, const std::string& text) {
    testing::expect_error([&] { parse_rule(rule); }, ErrorKind::value_error, text);
  };
  refuses("", "expected a rule");
  refuses(RuleText(std::vector<std::string>{}), "expected a rule");
  for (const char* text : {"S(0)", "S(0) ->", "-> R", "R -> R -> R"})
    refuses(text, "expected placements on both sides of '->'");
  for (const char* entry : {"Q", "S", "S(x)", "S(-1)", "_S(0)", "_S(0,0)", "P(product)", "P(add)",
                            "Ragged([1,1])", "NormP(2)", "s(0)"})
    refuses(std::string(entry) + ", S(0) -> S(0)", "expected R, S(d), _S(d,sf), P");
  refuses({"R -> R", "R, R -> R"}, "expected rows with the same numbers of inputs and outputs");
  refuses("mm -> m", "expected each letter once in an entry, got 'mm'");
  refuses("m -> n", "expected letters of the inputs in the outputs, got 'n'");
}

}  // namespace
}  // namespace simmesh
