#include <gmock/gmock.h>

#include "gate/explain.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// A perceptron of 59 parameters of 4 bytes.
TEST(MemoryBytesCheck, LimitsTheBytesOfACategory) {
  auto run = [](std::int64_t bytes) {
    return testing::run_text(
        testing::replicated_mlp +
        fmt::format("[expect]\nmemory_bytes_max = {{ parameter = {} }}\n", bytes));
  };
  EXPECT_EQ(run(100'000).failed(), 0) << testing::text_of(run(100'000));
  const GateResult result = run(235);
  const GateCheck& check = testing::check_of(result, "memory_bytes_max parameter");
  EXPECT_FALSE(check.passed);
  EXPECT_EQ(check.expected, "at most 235 bytes on each rank");
  EXPECT_GE(std::stoll(check.actual), 236);
}

TEST(MemoryBytesCheck, IsExplained) {
  EXPECT_THAT(explain(gate_from_text("", "g.toml")), HasSubstr("\nmemory_bytes_max = {}\n"));
  std::string text = "[expect]\nmemory_bytes_max = { gradient = 2, activation = 1 }\n";
  EXPECT_THAT(explain(gate_from_text(text, "g.toml")),
              HasSubstr("\nmemory_bytes_max = { activation = 1, gradient = 2 }\n"));
  testing::expect_refused("[expect]\nmemory_bytes_max = { gradients = 1 }\n",
                          "memory_bytes_max.gradients");
}

}  // namespace
}  // namespace simmesh
