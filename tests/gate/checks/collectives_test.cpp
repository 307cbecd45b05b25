#include <gmock/gmock.h>

#include "gate/explain.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// An operation that the gate doesn't name may be called any number of times.
TEST(CollectivesCheck, CountsTheCallsOfEachRank) {
  std::int64_t calls = testing::run_text(testing::replicated_mlp).collectives.at("all_reduce");
  auto run = [](std::int64_t all_reduce) {
    return testing::run_text(
        testing::replicated_mlp +
        fmt::format("[expect]\ncollectives = {{ all_reduce = {}, barrier = 0 }}\n", all_reduce));
  };
  EXPECT_EQ(run(calls).failed(), 0) << testing::text_of(run(calls));
  GateResult result = run(calls + 1);
  EXPECT_EQ(result.failed(), 1);
  const GateCheck& check = testing::check_of(result, "collectives all_reduce");
  EXPECT_FALSE(check.passed);
  EXPECT_EQ(check.expected, fmt::format("{} on each rank", calls + 1));
  EXPECT_EQ(check.actual, fmt::format("{} on rank 0", calls));
}

TEST(CollectivesCheck, RefusesAnUnknownOperation) {
  EXPECT_THAT(testing::refusal_of("[expect]\ncollectives = { all_reduces = 1 }\n"),
              HasSubstr("the nearest known key is 'expect.collectives.all_reduce'"));
}

TEST(CollectivesCheck, IsExplained) {
  EXPECT_THAT(explain(gate_from_text("", "g.toml")), HasSubstr("\ncollectives = {}\n"));
  std::string text = "[expect]\ncollectives = { reduce = 2, all_gather = 1 }\n";
  EXPECT_THAT(explain(gate_from_text(text, "g.toml")),
              HasSubstr("\ncollectives = { all_gather = 1, reduce = 2 }\n"));
}

}  // namespace
}  // namespace simmesh
