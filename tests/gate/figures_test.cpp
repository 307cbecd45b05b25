#include <filesystem>
#include <gtest/gtest.h>

#include "gate/report.h"
#include "gate/run_gate.h"
#include "gate/runner.h"

namespace simmesh {
namespace {

std::vector<std::filesystem::path> default_gates() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(SIMMESH_SOURCE_DIR "/examples/gates"))
    if (entry.path().extension() == ".toml") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Peak bytes, times, collectives and gathers are those of a device, so they must not depend on how
// sums add up. The run has a simulated device, so that times and reserved bytes are compared too.
TEST(Figures, AreTheSameInEveryArithmetic) {
  std::vector<std::filesystem::path> paths = default_gates();
  ASSERT_FALSE(paths.empty());
  for (const auto& path : paths) {
    GateFile gate = read_gate(path.string());
    if (!gate.device) gate.device = DeviceModel{};
    gate.expect = {};
    gate.faults.clear();
    GateResult canonical = run_gate(gate, {.arithmetic = "canonical"});
    for (const char* arithmetic : {"exact", "as_nccl_ring"}) {
      SCOPED_TRACE(path.filename().string() + " in " + arithmetic);
      GateResult other = run_gate(gate, {.arithmetic = arithmetic});
      EXPECT_EQ(other.peak_bytes, canonical.peak_bytes);
      EXPECT_EQ(other.collectives, canonical.collectives);
      EXPECT_EQ(other.schedule_hash, canonical.schedule_hash);
      ASSERT_TRUE(other.device && canonical.device);
      EXPECT_EQ(other.device->makespan_us, canonical.device->makespan_us);
      EXPECT_EQ(other.device->exposed_communication_us, canonical.device->exposed_communication_us);
      EXPECT_EQ(other.device->reserved_bytes, canonical.device->reserved_bytes);
      EXPECT_EQ(other.gathers.has_value(), canonical.gathers.has_value());
      if (!other.gathers) continue;
      EXPECT_EQ(other.gathers->started(), canonical.gathers->started());
      EXPECT_EQ(other.gathers->unused(), canonical.gathers->unused());
    }
  }
}

// A gate expects the events of one step; this test compares the events of all steps.
TEST(Figures, EventsAreTheSameInEveryArithmetic) {
  for (const auto& path : default_gates()) {
    GateFile gate = read_gate(path.string());
    // The gathered experts depend on the tokens that they get, and so on values.
    if (gate.parallel.expert && gate.parallel.fsdp) continue;
    gate.expect = {};
    gate.faults.clear();
    auto events = [&](const char* arithmetic) {
      std::vector<std::vector<std::string>> all;
      for (std::int64_t step = 0; step < gate.train.steps; ++step) {
        gate.expect.events.step = step;
        GateRun run = GateRunner(gate, {.arithmetic = arithmetic}).run({.observes = true});
        EXPECT_TRUE(run.outcome.ok()) << path;
        all.push_back(run.ranks[gate.expect.events.rank].events);
      }
      return all;
    };
    EXPECT_EQ(events("exact"), events("canonical")) << path;
  }
}

}  // namespace
}  // namespace simmesh
