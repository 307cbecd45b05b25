#include <gmock/gmock.h>

#include "gate/explain.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// A perceptron of 6 x 5 + 5 + 5 x 4 + 4 parameters of 4 bytes, whose gradients are summed once.
TEST(CollectiveBytesCheck, AddsUpTheOperandsOfEachRank) {
  auto run = [](std::int64_t bytes) {
    return testing::run_text(
        testing::replicated_mlp +
        fmt::format("[expect]\ncollective_bytes_max = {{ all_reduce = {} }}\n", bytes));
  };
  EXPECT_EQ(run(236).failed(), 0) << testing::text_of(run(236));
  const GateResult result = run(235);
  const GateCheck& check = testing::check_of(result, "collective_bytes_max all_reduce");
  EXPECT_FALSE(check.passed);
  EXPECT_EQ(check.expected, "at most 235 bytes of operands on each rank");
  EXPECT_THAT(check.actual, HasSubstr("236 in "));
  EXPECT_THAT(check.actual, HasSubstr(" on rank 0"));
}

TEST(CollectiveBytesCheck, IsExplained) {
  EXPECT_THAT(explain(gate_from_text("", "g.toml")), HasSubstr("\ncollective_bytes_max = {}\n"));
  std::string text = "[expect]\ncollective_bytes_max = { reduce = 2, all_gather = 1 }\n";
  EXPECT_THAT(explain(gate_from_text(text, "g.toml")),
              HasSubstr("\ncollective_bytes_max = { all_gather = 1, reduce = 2 }\n"));
  testing::expect_refused("[expect]\ncollective_bytes_max = { all_reduces = 1 }\n",
                          "collective_bytes_max.all_reduces");
}

}  // namespace
}  // namespace simmesh
