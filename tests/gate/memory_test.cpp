#include "gate/memory.h"

#include <gmock/gmock.h>

#include "gate/run_gate.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

GateFile wide_gate(const std::string& parallel, const std::string& more = "") {
  return gate_from_text(
      "[mesh]\nshape = [16]\n[model]\nwidth = 256\nhidden = 1024\n[data]\nbatch = 64\n"
      "[parallel]\n" +
          parallel + "\n[train]\noptimizer = { kind = \"adamw\" }\n" + more,
      "g.toml");
}

// If this fails, a gate that fits is refused, or one that doesn't is killed without a word.
TEST(GateMemory, IsWithinAFactorOfTwo) {
  for (const char* parallel : {"replicate = {}", "fsdp = {}", "fsdp = { wrap = \"root\" }"}) {
    GateFile gate = wide_gate(parallel);
    std::int64_t used = *run_gate(gate).physical_peak_bytes;
    std::int64_t estimated = estimate_memory(gate).bytes;
    EXPECT_LT(used, 2 * estimated) << parallel;
    EXPECT_LT(estimated, 2 * used) << parallel;
  }
}

TEST(GateMemory, ShapesNeedNoDataAndFoldedOnesFewRanks) {
  GateMemory data = estimate_memory(wide_gate("replicate = {}"));
  GateMemory shapes = estimate_memory(wide_gate("replicate = {}", "[world]\nshapes_only = true\n"));
  GateMemory folded =
      estimate_memory(wide_gate("replicate = {}", "[world]\nshapes_only = true\nfold = true\n"));
  EXPECT_LT(10 * shapes.bytes, data.bytes);
  EXPECT_EQ(shapes.bytes, 8 * folded.bytes);
}

TEST(GateMemory, AGateThatDoesNotFitIsRefused) {
  GateFile gate = wide_gate("replicate = {}");
  std::int64_t bytes = estimate_memory(gate).bytes;
  EXPECT_EQ(expect_memory(gate, 1, bytes), bytes);
  EXPECT_EQ(expect_memory(gate, 2, 2 * bytes), 2 * bytes);
  EXPECT_THAT([&] { expect_memory(gate, 1, bytes - 1); },
              ThrowsMessage<BadGate>(HasSubstr("[g.toml:2:9] key 'mesh.shape': expected a gate")));
  EXPECT_THAT([&] { expect_memory(gate, 3, 2 * bytes); },
              ThrowsMessage<BadGate>(HasSubstr("3 times at once; [world] with shapes_only")));
  EXPECT_THAT(
      [&] { expect_memory(wide_gate("replicate = {}", "[world]\nshapes_only = true\n"), 1, 1000); },
      ThrowsMessage<BadGate>(HasSubstr("fold = true runs few ranks")));
  EXPECT_GT(machine_memory_bytes(), std::int64_t(1) << 28);
}

}  // namespace
}  // namespace simmesh
