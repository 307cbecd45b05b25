#include "gate/expect.h"

#include <gmock/gmock.h>

#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

struct ReadNumber {
  int value = 7;
};
struct Text {
  std::string value;
};

// A check that found the value of another one would check nothing, or the wrong thing.
TEST(GateExpect, KeepsAValueForEachCheck) {
  GateExpect expect;
  EXPECT_EQ(expect.own<ReadNumber>().value, 7);
  expect.set_own(ReadNumber{3});
  expect.set_own(Text{"a"});
  GateExpect copy = expect;
  EXPECT_EQ(copy.own<ReadNumber>().value, 3);
  EXPECT_EQ(copy.own<Text>().value, "a");
}

TEST(GateExpect, NamesOtherRuns) {
  GateSameAs word{.layout = {}, .parallel = {}, .word = "zero3"};
  EXPECT_EQ(word.name(), "same_as zero3");
  GateSameAs table{.layout = {{2, 2}, {"a", "b"}}, .parallel = {}};
  EXPECT_EQ(table.name(), "same_as single_device on [2, 2]");
}

// A key that no check knows must never be ignored.
TEST(GateExpect, RefusesAnUnknownKey) {
  EXPECT_THAT(testing::refusal_of("[expect]\nloses = [1.0]\n"),
              HasSubstr("the nearest known key is 'expect.loss'"));
}

}  // namespace
}  // namespace simmesh
