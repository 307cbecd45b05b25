#include "gate/checkpoint.h"

#include <gmock/gmock.h>

#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

TEST(GateCheckpoint, RefusesWhatCantBeResumed) {
  auto refused_with = [](const std::string& text, const char* phrase) {
    EXPECT_THAT(testing::refusal_of(text), HasSubstr(phrase));
  };
  refused_with("[train]\nsteps = 1\n[checkpoint]\nsave_at = 1\n", "a gate of one step");
  refused_with("[train]\nsteps = 3\n[checkpoint]\nsave_at = 3\n", "save_at");
  refused_with("[train]\nsteps = 3\n[checkpoint]\nsave_on = 1\n", "save_at");
  refused_with("[train]\nsteps = 3\n[checkpoint]\nmode = \"sync\"\n", "zero_cost");
  refused_with(
      "[train]\nsteps = 3\n[checkpoint]\nresume_on = { mesh = [9], parallel = { fsdp = {} } }\n",
      "expected rows for each of 9 ranks in each of 1 micro-batches, got a batch of 8");
}

}  // namespace
}  // namespace simmesh
