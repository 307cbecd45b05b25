#include <gmock/gmock.h>

#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// If a module is prefetched but never called, its all-gather is unused.
TEST(UnusedGathersCheck, CountsGathersThatNobodyUsed) {
  auto run = [](int expected) {
    return testing::run_text(
        "[mesh]\nshape = [2]\n[model]\nnodes = [{ name = \"s\", kind = \"sequential\", calls = "
        "[\"a\", \"c\"], children = [{ name = \"a\", kind = \"linear\", in = 4, out = 4 }, { name "
        "= \"b\", kind = \"linear\", in = 4, out = 4 }, { name = \"c\", kind = \"linear\", in = 4, "
        "out = 4 }] }]\n[data]\ninput = [4]\n[parallel]\nfsdp = { wrap = [\"s.a\", \"s.b\", "
        "\"s.c\"], forward_prefetch = 1 }\n[expect]\nunused_gathers = " +
        std::to_string(expected) + "\n");
  };
  GateResult result = run(0);
  EXPECT_EQ(result.gathers->unused(), 1);
  EXPECT_EQ(testing::check_of(result, "unused_gathers").actual, "1 on rank 0");
  EXPECT_EQ(result.failed(), 1);
  EXPECT_TRUE(testing::check_of(run(1), "unused_gathers").passed);
}

TEST(UnusedGathersCheck, RefusesAGateThatGathersNothing) {
  EXPECT_THAT(testing::refusal_of("[expect]\nunused_gathers = 0\n"),
              HasSubstr("no such key in a gate without parallel.fsdp"));
  EXPECT_THAT(testing::refusal_of(testing::sharded_layer + "[expect]\nunused_gathers = -2\n"),
              HasSubstr("from -1"));
}

}  // namespace
}  // namespace simmesh
